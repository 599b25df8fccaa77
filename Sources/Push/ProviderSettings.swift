import FleetRules

/// How APNs is reached, in one of its environments.
package struct APNsSettings: Sendable {
    package var address: APNsAddress
    /// One for each key, however many environments it serves.
    package var token: APNsToken
    /// A PEM file to trust instead of the system's; empty: the system's.
    package var caFile: String

    package init(address: APNsAddress, token: APNsToken, caFile: String = "") {
        self.address = address
        self.token = token
        self.caFile = caFile
    }
}

/// How FCM is reached.
package struct FCMSettings: Sendable {
    /// `https://fcm.googleapis.com`, without a slash at its end.
    package var baseURL: String
    package var account: ServiceAccount
    /// A PEM file to trust instead of the system's, for tokens too; empty: the system's.
    package var caFile: String

    package init(baseURL: String, account: ServiceAccount, caFile: String = "") {
        self.baseURL = baseURL
        self.account = account
        self.caFile = caFile
    }
}

/// How the provider of a lane is reached.
package enum ProviderSettings: Sendable {
    case apns(APNsSettings)
    case fcm(FCMSettings)

    var provider: PushProvider {
        switch self {
        case .apns: .apns
        case .fcm: .fcm
        }
    }
}
