/// Describes a removed device to the lanes, the log lines and the webhook.
package struct RemovedDevice: Equatable, Sendable {
    /// ``PushJob/Device/id``.
    package let id: String
    /// ``Identity/key`` of the owner.
    package let owner: String
    package let provider: PushProvider
    /// ``DeviceToken/masked``.
    package let maskedToken: String
    /// The provider's or the store's reason.
    package let reason: String

    package init(id: String, owner: String, provider: PushProvider, maskedToken: String, reason: String) {
        self.id = id
        self.owner = owner
        self.provider = provider
        self.maskedToken = maskedToken
        self.reason = reason
    }
}
