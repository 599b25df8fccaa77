/// What somebody does with a phone of his.
package struct DeviceRegistration: Equatable, Sendable {
    package enum Kind: String, Sendable { case register, unregister }

    /// The two endpoints word their answers differently: `/api/auth/fcm-token`, `/app-register-device`.
    package enum Endpoint: Sendable { case fcmToken, appDevice }

    package let kind: Kind
    package let token: DeviceToken
    /// What the app calls the phone: its new token replaces the one it had.
    package let deviceID: String?
    package let endpoint: Endpoint

    package init(_ action: Kind, _ token: DeviceToken, deviceID: String? = nil, endpoint: Endpoint) {
        self.kind = action
        self.token = token
        self.deviceID = deviceID
        self.endpoint = endpoint
    }
}
