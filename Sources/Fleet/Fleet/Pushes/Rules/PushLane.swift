/// A queue of pushes with its own connections, so that an outage of one provider does not delay the others.
package enum PushLane: String, CaseIterable, Sendable {
    case apns
    /// APNs' sandbox environment has its own host and device tokens.
    case apnsSandbox = "apns-sandbox"
    case fcm

    /// The push service to which this lane sends.
    package var provider: PushProvider {
        switch self {
        case .apns, .apnsSandbox: .apns
        case .fcm: .fcm
        }
    }

    /// The APNs environment to whose tokens this lane sends; nil for FCM.
    package var environment: DeviceToken.Environment? {
        switch self {
        case .apns: .production
        case .apnsSandbox: .sandbox
        case .fcm: nil
        }
    }
}
