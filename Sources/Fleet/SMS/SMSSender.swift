import Crypto
import HTTPClient
import Primitives
import Threads

/// Sends SMS by the operator's adapter, on a thread of its own: an adapter that is slow delays neither a loop nor the
/// store. What waits is bounded, and every SMS has its outcome within ten seconds: three attempts of at most three, and the
/// pauses between them.
///
/// `Tag` names an SMS to the caller. Texts and codes are in memory only.
package final class SMSSender<Tag: Sendable>: Sendable {
    /// An SMS to send.
    package struct Message: Sendable {
        let phone: String
        let code: String
        let id: String
        let tag: Tag

        /// - Parameters:
        ///   - phone: in E.164.
        ///   - id: the same for all attempts, and different from those of all other SMS.
        package init(phone: String, code: String, id: String, tag: Tag) {
            (self.phone, self.code, self.id, self.tag) = (phone, code, id, tag)
        }
    }

    /// What the caller learns. Called on the sender's thread.
    package struct Observers: Sendable {
        /// The adapter has taken an SMS, or finally not. Returns false if that could not be told now: the sender then tells
        /// it again.
        package var finished: @Sendable (Tag, SMSOutcome) -> Bool
        /// An attempt has failed; the text is the reason, for the log.
        package var failed: @Sendable (_ reason: String) -> Void

        package init(
            finished: @escaping @Sendable (Tag, SMSOutcome) -> Bool, failed: @escaping @Sendable (_ reason: String) -> Void
        ) {
            (self.finished, self.failed) = (finished, failed)
        }
    }

    private struct Inbox {
        var messages: [Message] = []
        /// The SMS that have no outcome yet.
        var open = 0
        var isStopping = false
        var waker: HTTPPool.Waker?
    }

    private let inbox = Lock(Inbox())
    private let capacity: Int
    private let thread = Lock<Thread?>(nil)

    /// Starts the thread.
    /// - Parameters:
    ///   - capacity: the most SMS that have no outcome yet.
    ///   - connectionsMax: the most connections to the adapter.
    package init(
        _ adapter: SMSAdapter, capacity: Int = 256, connectionsMax: Int = SMSLimits.connectionsMax, _ observers: Observers
    ) {
        self.capacity = capacity
        let started = Thread(name: "sms") { [self] in
            SenderLoop(self, adapter, connectionsMax: connectionsMax, observers).run()
        }
        thread.withLock { $0 = started }
    }

    /// Queues an SMS. Returns false if too many wait, or after ``stop()``; its outcome is then not reported.
    package func post(_ message: Message) -> Bool {
        let (isQueued, waker) = inbox.withLock { inbox -> (Bool, HTTPPool.Waker?) in
            guard !inbox.isStopping, inbox.open < capacity else { return (false, nil) }
            inbox.open += 1
            inbox.messages.append(message)
            return (true, inbox.waker)
        }
        waker?.wake()
        return isQueued
    }

    /// The SMS that have no outcome yet.
    package var depth: Int { inbox.withLock { $0.open } }

    /// Gives up what was not sent, and blocks until the thread has ended.
    package func stop() {
        let waker = inbox.withLock { inbox in
            inbox.isStopping = true
            return inbox.waker
        }
        waker?.wake()
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        thread?.join()
    }
}

/// The limits of senders.
package enum SMSLimits {
    /// The most connections to the adapter.
    package static let connectionsMax = 32
}

extension SMSSender {
    /// The state that the thread owns, and its loop.
    private final class SenderLoop {
        private struct Sending {
            let tag: Tag
            let request: SMSRequest
            var attempts = SMSAttempts()
            /// When the SMS was posted, in monotonic milliseconds.
            let postedAt: Int64
            /// Whether an attempt has timed out: the next one must not use a connection that may be dead.
            var needsFreshConnection = false
        }

        private let sender: SMSSender
        private let adapter: SMSAdapter
        private let observers: Observers
        private let key: HMACKey
        private let pool: HTTPPool
        private var sending: [Int: Sending] = [:]
        private var nextNumber = 0
        /// Attempts that wait for their time.
        private var waiting: [(number: Int, at: Int64)] = []
        /// Attempts that wait for one of the connections: libcurl would count their waiting towards the attempt's time.
        private var queued: [Int] = []
        private var underWay = 0
        private let connectionsMax: Int
        /// Outcomes that could not be told yet.
        private var untold: [(tag: Tag, outcome: SMSOutcome)] = []

        init(_ sender: SMSSender, _ adapter: SMSAdapter, connectionsMax: Int, _ observers: Observers) {
            self.sender = sender
            self.adapter = adapter
            self.observers = observers
            self.connectionsMax = connectionsMax
            key = HMACKey(secret: adapter.secret)
            var options = HTTPPool.Options()
            options.connectionsPerHost = connectionsMax
            options.timeoutMilliseconds = adapter.timeoutMilliseconds
            options.idleSecondsMax = 60
            options.allowsPlainHTTP = true
            // The status is all that counts.
            options.responseBytesMax = 16_384
            options.needsOnlyStatus = true
            pool = HTTPPool(options)
        }

        func run() {
            let waker = pool.waker
            sender.inbox.withLock { $0.waker = waker }
            // The first turn comes before the first wait: SMS may have been posted before the waker was set.
            while let milliseconds = turn() { pool.wait(milliseconds: milliseconds) }
            _ = pool.retire()
        }

        /// Performs all work that is due.
        /// - Returns: how many milliseconds to wait before the next turn; nil to end the thread.
        private func turn() -> Int? {
            let (messages, isStopping) = sender.inbox.withLock { inbox in
                defer { inbox.messages = [] }
                return (inbox.messages, inbox.isStopping)
            }
            guard !isStopping else { return nil }
            for message in messages { begin(message) }
            for completion in pool.perform() { ended(completion) }
            let now = Clock.monotonicMilliseconds()
            queued += waiting.filter { $0.at <= now }.map(\.number)
            waiting.removeAll { $0.at <= now }
            startQueued(now)
            tell()
            // Requests that were started since `perform()` are sent by the next one.
            if hasStarted {
                hasStarted = false
                return 0
            }
            let next = waiting.map(\.at).min().map { Int($0 - now) } ?? 60_000
            return untold.isEmpty ? next : min(next, 20)
        }

        private var hasStarted = false

        private func begin(_ message: Message) {
            nextNumber += 1
            sending[nextNumber] = Sending(
                tag: message.tag,
                request: SMSRequest(to: message.phone, code: message.code, template: adapter.template, id: message.id),
                postedAt: Clock.monotonicMilliseconds())
            queued.append(nextNumber)
        }

        /// Starts as many attempts as there are connections. Gives up those that would end too late.
        private func startQueued(_ now: Int64) {
            while underWay < connectionsMax, !queued.isEmpty {
                let number = queued.removeFirst()
                guard let one = sending[number] else { continue }
                if now + Int64(adapter.timeoutMilliseconds) - one.postedAt > Timing.smsOutcomeMax {
                    observers.failed("no connection was free in time")
                    finish(number, one.attempts.outcome)
                } else {
                    start(number)
                }
            }
        }

        private func finish(_ number: Int, _ outcome: SMSOutcome) {
            guard let one = sending.removeValue(forKey: number) else { return }
            untold.append((one.tag, outcome))
        }

        private func start(_ number: Int) {
            guard let one = sending[number] else { return }
            var request = one.request.signed(with: key, to: adapter.url)
            request.needsFreshConnection = one.needsFreshConnection
            pool.start(request, tag: number)
            underWay += 1
            hasStarted = true
        }

        private func ended(_ completion: HTTPPool.Completion) {
            underWay -= 1
            guard var one = sending[completion.tag] else { return }
            let end: SMSAttempts.End
            switch completion.result {
            case .success(let response):
                end = .response(status: response.status)
                if !(200..<300).contains(response.status) { observers.failed("HTTP \(response.status)") }
            case .failure(let error):
                if case .notSent = error { end = .notSent } else { end = .noResponse }
                observers.failed(error.description)
                if error == .timedOut { one.needsFreshConnection = true }
            }
            let step = one.attempts.ended(end, now: Clock.monotonicMilliseconds())
            sending[completion.tag] = one
            switch step {
            case .again(let time): waiting.append((completion.tag, time))
            case .finished(let outcome): finish(completion.tag, outcome)
            }
        }

        private func tell() {
            guard !untold.isEmpty else { return }
            let before = untold.count
            untold.removeAll { observers.finished($0.tag, $0.outcome) }
            let told = before - untold.count
            sender.inbox.withLock { $0.open -= told }
        }
    }
}

extension Timing {
    /// Each SMS has its outcome within this time.
    static let smsOutcomeMax = milliseconds(10_000)
}
