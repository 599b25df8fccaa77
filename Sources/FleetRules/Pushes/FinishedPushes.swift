/// What the store says of pushes, once it is committed: those that ended without a lane having had them in hand, and all that
/// have failed, for a lane does not know whether its failure is the last word.
package struct FinishedPushes: Equatable, Sendable {
    package var expired = 0
    package var cancelled = 0
    package var failed: [FailedPush] = []
    /// Refused for a token that has been replaced meanwhile: they will be tried with the new one.
    package var retried = 0

    package init() {}
}

/// A push that has failed for good, for those who want to know.
package struct FailedPush: Equatable, Sendable {
    package let notificationID: String
    package let event: String
    /// ``Identity/key`` of whom it was for.
    package let recipient: String
    /// ``DeviceToken/masked``; ``PushJob/Device/id`` where the token cannot be read.
    package let device: String
    /// How often it was tried.
    package let attempts: Int
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

    /// - Parameter reason: the provider's word.
    package init(_ job: PushJob, reason: String) {
        self.init(
            notificationID: job.notification.id, event: job.notification.event, recipient: job.recipient,
            device: job.device.token.masked, attempts: job.attempts + 1, reason: reason)
    }
}
