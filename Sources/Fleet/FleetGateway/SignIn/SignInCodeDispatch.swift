import Access
import Configuration
import Fleet
import Observability
import Primitives
import SMS
import Threads

/// Hands SMS with codes to the operator's adapter. The requests that wait for what becomes of them are ``DeferredReplies``.
///
/// The store's writer calls it after each commit; the sender's thread reports outcomes, which become commands.
final class SignInCodeDispatch: Sendable {
    private struct State {
        /// Outcomes that could not be stored. Their requests have been answered, or wait.
        var unstored: [SignInCodeSMS] = []
        /// Queues a command; nil until the store is open.
        var post: (@Sendable (CommandRequest) -> Bool)?
        /// When the next line about a limit may be written, in monotonic milliseconds.
        var reportAt: [SignInCodeLimit: Int64] = [:]
    }

    /// Who gets the outcomes of SMS.
    private struct Receiver {
        let finished: @Sendable (SignInCodeMessage, SMSOutcome) -> Bool
    }

    private let state = Lock(State())
    private let receiver = Lock<Receiver?>(nil)
    /// Nil without an adapter: the log gets the codes.
    private let sender: SMSSender<SignInCodeMessage>?
    private let log: Log
    /// Attempts of the adapter that have failed.
    private let failures: RateLimitedLog

    /// - Parameter adapter: nil without one.
    init(_ adapter: SMSAdapter?, log: Log) {
        self.log = log
        let failures = RateLimitedLog(log, .warning, "otp_not_sent")
        self.failures = failures
        let receiver = receiver
        sender = adapter.map { adapter in
            SMSSender(
                adapter,
                .init(
                    finished: { message, outcome in receiver.withLock { $0 }?.finished(message, outcome) ?? false },
                    failed: { reason in failures.write { ["reason": .text(reason)] } }))
        }
    }

    /// Sets where outcomes go. Call it once the store is open.
    func connect(post: @escaping @Sendable (CommandRequest) -> Bool) {
        state.withLock { $0.post = post }
        receiver.withLock {
            $0 = Receiver { [weak self] message, outcome in
                let result = message.result(isSent: outcome == .sent, mayBeSent: outcome == .unknown)
                return self?.report(result) ?? true
            }
        }
    }

    /// Sends an SMS that a command has caused. Its outcome becomes a command.
    func send(_ message: SignInCodeMessage) {
        guard let sender else {
            log.warning(
                "otp_development_code",
                [
                    "phone": .text(PhoneNumber.masked(message.phone)), "temp_user_id": .text(message.sessionID),
                    "code": .text(message.code), "hint": "set otp.sms.url to send codes",
                ])
            reportOrKeep(message.result(isSent: true))
            return
        }
        let sms = SMSSender.Message(phone: message.phone, code: message.code, id: message.sendID, tag: message)
        if !sender.post(sms) { reportOrKeep(message.result(isSent: false)) }
    }

    /// Tells the operator which limits no code passes, each at most once a minute, and which prefixes were stopped.
    func report(_ counts: SignInCodeCounts) {
        for prefix in counts.stoppedPrefixes {
            log.error(
                "otp_prefix_stopped",
                [
                    "prefix": .text(prefix),
                    "hint": "its last codes brought no sign-in: new phones with this prefix get none for an hour",
                ])
        }
        let now = Clock.monotonicMilliseconds()
        for (limit, refusals) in counts.limited.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let isDue = state.withLock { state in
                guard now >= state.reportAt[limit] ?? 0 else { return false }
                state.reportAt[limit] = now + Timing.codeReportInterval
                return true
            }
            if isDue { report(limit, prefix: refusals.prefix) }
        }
    }

    private func report(_ limit: SignInCodeLimit, prefix: String?) {
        switch limit {
        case .dailyMax:
            log.error(
                "otp_daily_max_reached",
                ["hint": "no more codes are sent for now: look for abuse, or raise otp.daily_max"])
        case .newPhones:
            log.error(
                "otp_new_phones_max_reached",
                ["hint": "only phones with an account get codes for now: look for abuse, or raise otp.daily_max"])
        case .prefix, .stoppedPrefix, .address, .email:
            log.warning("otp_limited", ["limit": .text(limit.rawValue), "prefix": .optional(prefix)])
        // What strangers do to one phone or from one address is in the metrics.
        case .phone, .requestsPerAddress, .triesPerAddress: break
        }
    }

    /// Logs how many lines were left out in the last second, and reports again what could not be stored. Call it once a
    /// second.
    func tick() {
        failures.flush()
        let unstored = state.withLock { state in
            defer { state.unstored = [] }
            return state.unstored
        }
        for result in unstored { reportOrKeep(result) }
    }

    /// Keeps an outcome whose command has failed: without it, the next login would believe that the code was sent.
    func recorded(_ result: SignInCodeSMS, _ reply: CommandReply) {
        switch reply {
        case .unavailable, .failed: keep(result)
        case .committed, .deferred, .replayed, .rejected: break
        }
    }

    private func keep(_ result: SignInCodeSMS) { state.withLock { $0.unstored.append(result) } }

    private func reportOrKeep(_ result: SignInCodeSMS) { if !report(result) { keep(result) } }

    /// The SMS without outcome.
    var depth: Int { sender?.depth ?? 0 }

    /// Gives up what was not sent.
    func stop() { sender?.stop() }

    /// - Returns: false if the store's queue is full.
    private func report(_ result: SignInCodeSMS) -> Bool {
        let command = IssuedCommand(
            RecordSignInSMS(result), from: .anonymous, correlationID: "sms-\(result.sendID)")
        return state.withLock { $0.post }?(CommandRequest(command, replyTo: nil)) ?? false
    }
}

extension SMSAdapter {
    /// Nil if no adapter is configured, or sign-in by code is off.
    init?(_ otp: Settings.OTP) {
        guard otp.isEnabled, !otp.sms.url.isEmpty else { return nil }
        self.init(
            url: otp.sms.url, secret: otp.sms.secret, template: otp.sms.template,
            timeoutMilliseconds: otp.sms.timeoutMilliseconds)
    }
}
