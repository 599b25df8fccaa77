import FleetRules
import HTTPClient

/// One push to one phone, for an operator who wants to know whether his configuration works: by the same requests, credentials
/// and reading of answers as all others.
package enum PushTest {
    /// What came of it.
    package struct Result: Equatable, Sendable {
        package let isAccepted: Bool
        /// For the operator.
        package let words: String
    }

    /// Milliseconds for everything together, a token's request among it.
    private static let timeMax: Int64 = 25_000
    /// How long the phone's provider keeps it, in milliseconds: who tests is looking at the phone.
    private static let lifetime: Int64 = 300_000
    private static let pollMilliseconds = 100

    /// Sends, and waits for the answer.
    /// - Parameters:
    ///   - token: of the provider that `settings` are for.
    ///   - now: milliseconds since 1970.
    package static func send(to token: DeviceToken, _ settings: ProviderSettings, now: () -> Int64) -> Result {
        precondition(token.provider == settings.provider, "a token of the provider that is tested")
        let link = ProviderConnection(settings, LaneRules(for: settings.provider))
        let job = job(token, now())
        var dice = SystemRandomNumberGenerator()
        var (isSent, isReady) = (false, link.hasCredential)
        let start = now()
        if !isReady { _ = link.renew(after: -1, at: start, using: &dice) }  // there is none that could be too new
        while now() - start < timeMax {
            for happening in link.turn(at: now(), using: &dice) {
                switch happening {
                case .completed(let ending): return result(ending.result)
                case .credential(.ready): isReady = true
                case .credential(.missing(let reason)), .credential(.refused(let reason)),
                    .credential(.renewalFailed(let reason)):
                    return Result(isAccepted: false, words: reason)
                case .renewed, .withdrawn, .outdated, .credential(.expired): break
                }
            }
            if isReady, !isSent {
                isSent = true
                link.send(job, message(start), at: now())
            } else {
                link.wait(milliseconds: pollMilliseconds)
            }
        }
        return Result(isAccepted: false, words: "no answer within \(timeMax / 1_000) s")
    }

    private static func result(_ result: Swift.Result<SendResult, HTTPClientError>) -> Result {
        let verdict =
            switch result {
            case .success(let verdict): verdict
            case .failure(let failure): SendResult(failure)
            }
        if case .accepted = verdict { return Result(isAccepted: true, words: words(verdict)) }
        return Result(isAccepted: false, words: words(verdict))
    }

    /// What a verdict means to who configured this.
    static func words(_ verdict: SendResult) -> String {
        switch verdict {
        case .accepted(let messageID): "accepted" + (messageID.map { " as \($0)" } ?? "")
        case .rejected(let reason, _): "rejected: \(reason)"
        case .invalidToken(let removal): "rejected: the token is not or no longer good: \(removal.reason)"
        case .retry(let reason, _): "not accepted this time: \(reason)"
        case .deviceThrottled(let reason, _): "not accepted this time, too many to this phone: \(reason)"
        case .credentialExpired(let reason): "refused: \(reason): is the clock right?"
        case .configurationError(let reason, _): "refused: \(reason): address, key, team or topic are not what they should be"
        case .tooManyTokens(let reason): "not accepted this time, the connection has seen too many tokens: \(reason)"
        case .goAway(let reason): "not accepted this time, the provider was about to close the connection: \(reason)"
        }
    }

    private static func job(_ token: DeviceToken, _ now: Int64) -> PushJob {
        let notification = Notification(
            id: "push-test-\(now)", channel: "driver-0", event: "push-test", data: Array("{}".utf8), createdAt: now,
            expiresAt: now + lifetime, collapseKey: "push-test")
        let device = PushJob.Device(id: "push-test", token: token, lastSeenAt: now)
        return PushJob(number: 1, notification: notification, entity: nil, recipient: "driver:0", device: device)
    }

    private static func message(_ now: Int64) -> PushMessage {
        PushMessage(
            notificationID: "push-test-\(now)", title: "Fleetwire", body: "Pushes reach this phone.", sound: "default",
            category: "", thread: "", channelID: "", isHighPriority: true, expiresAt: now + lifetime, collapseID: "push-test",
            collapseKey: nil, badge: 1,
            ids: [
                PushMessage.Field("type", "push_test", isPromised: true),
                PushMessage.Field("event", "push-test", isPromised: true),
                PushMessage.Field("notificationId", "push-test-\(now)", isPromised: true),
            ], details: [])
    }
}
