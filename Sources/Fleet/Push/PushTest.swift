import Fleet
import HTTPClient

/// Sends one push to one device, so that an operator can check the configuration. Uses the same requests, credentials
/// and response parsing as all other pushes.
package enum PushTest {
    /// The outcome of the test.
    package struct Result: Equatable, Sendable {
        /// Whether the provider accepted the push.
        package let isAccepted: Bool
        /// The outcome for the operator, with the provider's reason.
        package let text: String
    }

    /// Milliseconds for the whole test, including the fetch of an access token.
    private static let timeMax: Int64 = 25_000
    /// The notification's lifetime in milliseconds: short, because the operator is looking at the device.
    private static let lifetime: Int64 = 300_000
    /// Maximum time between two checks whether the time is over.
    private static let pollMilliseconds = 100

    /// Sends a push and blocks until the response.
    /// - Parameters:
    ///   - token: the device's token, issued by `provider`.
    ///   - now: returns the present time in milliseconds since 1970.
    package static func send(to token: DeviceToken, _ provider: Provider, now: () -> Int64) -> Result {
        precondition(token.provider == provider.lane.provider, "PushTest.send got a token of another provider")
        let connection = ProviderConnection(provider)
        let job = job(token, now())
        var rng = SystemRandomNumberGenerator()
        var (isSent, isReady) = (false, connection.hasInitialCredential)
        let start = now()
        // This call only starts the fetch of a credential, so its events are not needed: a later turn returns the
        // result.
        if !isReady { _ = connection.renewCredential(after: -1, at: start) }
        while now() - start < timeMax {
            for event in connection.turn(at: now(), using: &rng) {
                switch event {
                case .completed(let completion): return result(completion.result)
                case .credential(.update(.ready)): isReady = true
                case .credential(.update(.missing(let reason))), .credential(.update(.refused(let reason))),
                    .credential(.update(.renewalFailed(let reason))):
                    return Result(isAccepted: false, text: reason)
                case .credential(.update(.expired)), .credential(.renewed), .credential(.connectionsOutdated), .withdrawn:
                    break
                }
            }
            if isReady, !isSent {
                isSent = true
                connection.send(job, message(start), at: now())
            } else {
                connection.wait(milliseconds: pollMilliseconds)
            }
        }
        return Result(isAccepted: false, text: "no response within \(timeMax / 1_000) s")
    }

    private static func result(_ result: Swift.Result<SendResult, HTTPClientError>) -> Result {
        let result =
            switch result {
            case .success(let result): result
            case .failure(let error): SendResult(error)
            }
        if case .accepted = result { return Result(isAccepted: true, text: text(result)) }
        return Result(isAccepted: false, text: text(result))
    }

    /// The text for the operator: what the provider responded, and what to do or to check.
    static func text(_ result: SendResult) -> String {
        switch result {
        case .accepted(let messageID): "accepted" + (messageID.map { " as \($0)" } ?? "")
        case .rejected(let reason, _): "rejected: \(reason)"
        case .invalidToken(let removal): "rejected: the device token is invalid or no longer registered: \(removal.reason)"
        case .doubtfulToken(let removal), .wrongEnvironment(let removal):
            "rejected: the device token is invalid, or belongs to another topic, environment or project: \(removal.reason)"
        case .unknownAddress(let reason): "rejected: \(reason): check address, topic and project"
        case .retry(let reason, _), .shutdown(let reason, _): "not accepted: \(reason). Try again later"
        case .deviceThrottled(let reason, _): "not accepted: too many pushes to this device: \(reason). Try again later"
        case .credentialExpired(let reason): "refused: \(reason): check the clock"
        case .foreign(let reason): "not accepted: \(reason): check the address, and proxies on the way"
        case .configurationError(let reason, _): "refused: \(reason): check address, key, team and topic"
        case .tooManyTokens(let reason): "not accepted: too many provider tokens on the connection: \(reason). Try again later"
        case .goAway(let reason): "not accepted: the provider is closing the connection: \(reason). Try again"
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
            notificationID: "push-test-\(now)", title: "Fleetwire", body: "Pushes reach this device.", sound: "default",
            category: "", thread: "", channelID: "", isHighPriority: true, expiresAt: now + lifetime, collapseID: "push-test",
            collapseKey: nil, badge: 1,
            leadingFields: [
                PushMessage.Field("type", "push_test", isRequired: true),
                PushMessage.Field("event", "push-test", isRequired: true),
                PushMessage.Field("notificationId", "push-test-\(now)", isRequired: true),
            ], eventFields: [])
    }
}
