/// A registered device without its token, which is stored encrypted.
package struct StoredDevice: Equatable, Sendable {
    /// 32 hexadecimal digits: a digest of provider and token.
    package let id: String
    package let provider: PushProvider
    package let platform: DeviceToken.Platform?
    package let environment: DeviceToken.Environment?
    /// The owner's ``Identity/key``.
    package let owner: String
    /// The app's own id of the device (``DeviceRegistration/deviceID``); nil if the app has sent none.
    package let name: String?
    /// ``DeviceToken/masked``.
    package let maskedToken: String
    /// When the owner first registered the device: milliseconds since 1970.
    package let registeredAt: Int64
    /// When the app last registered the device: milliseconds since 1970.
    package let lastSeenAt: Int64

    package init(
        id: String, provider: PushProvider, platform: DeviceToken.Platform?, environment: DeviceToken.Environment?,
        owner: String, name: String?, maskedToken: String, registeredAt: Int64, lastSeenAt: Int64
    ) {
        self.id = id
        self.provider = provider
        self.platform = platform
        self.environment = environment
        self.owner = owner
        self.name = name
        self.maskedToken = maskedToken
        self.registeredAt = registeredAt
        self.lastSeenAt = lastSeenAt
    }

    /// The lane that sends to the device.
    package var lane: PushLane {
        DeviceToken(provider: provider, platform: platform, environment: environment, text: "").lane
    }

    /// The record of the device's removal.
    package func removed(_ reason: String) -> RemovedDevice {
        RemovedDevice(id: id, owner: owner, provider: provider, maskedToken: maskedToken, reason: reason)
    }
}
