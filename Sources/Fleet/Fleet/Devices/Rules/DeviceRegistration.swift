/// A user's request to register or unregister a device.
package struct DeviceRegistration: Equatable, Sendable {
    package enum Kind: String, Sendable { case register, unregister }

    /// The form of the request and its response.
    package enum Form: Sendable {
        /// `/api/auth/fcm-token`.
        case fcmToken
        /// `/app-register-device`.
        case appDevice
    }

    package let kind: Kind
    package let token: DeviceToken
    /// The app's own id of the device; nil if the request has none. A new token with the same id replaces the earlier
    /// one.
    package let deviceID: String?
    package let form: Form

    package init(_ kind: Kind, _ token: DeviceToken, deviceID: String? = nil, form: Form) {
        self.kind = kind
        self.token = token
        self.deviceID = deviceID
        self.form = form
    }
}
