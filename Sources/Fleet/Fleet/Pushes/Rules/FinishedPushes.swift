/// The results of one lane's pushes that the store counts instead of the lane, from one transaction: pushes that
/// expired or were cancelled in the store, and pushes that the provider rejected. Only the store can decide whether a
/// rejected push has failed or is sent again.
package struct FinishedPushes: Equatable, Sendable {
    /// The number of pushes whose notification expired before they were sent.
    package var expired = 0
    /// The number of pushes that the store cancelled.
    package var cancelled = 0
    package var failed: [FailedPush] = []
    /// The number of pushes that the provider rejected because of a token that the app has replaced since. They are
    /// sent again with the new token.
    package var retried = 0

    package init() {}
}

/// A push that failed for good, for the log and the webhook.
package struct FailedPush: Equatable, Sendable {
    package let notificationID: String
    package let event: String
    /// ``Identity/key`` of the recipient.
    package let recipient: String
    /// ``DeviceToken/masked``, or ``PushJob/Device/id`` if the token cannot be decrypted.
    package let device: String
    /// The number of attempts to send the push, including the last.
    package let attempts: Int
    /// The provider's or the store's reason.
    package let reason: String

    package init(
        notificationID: String, event: String, recipient: String, device: String, attempts: Int, reason: String
    ) {
        self.notificationID = notificationID
        self.event = event
        self.recipient = recipient
        self.device = device
        self.attempts = attempts
        self.reason = reason
    }

    /// - Parameter reason: as the provider reported it.
    package init(_ job: PushJob, reason: String) {
        self.init(
            notificationID: job.notification.id, event: job.notification.event, recipient: job.recipient,
            device: job.device.token.masked, attempts: job.attempts + 1, reason: reason)
    }
}
