/// Who carries pushes to phones.
package enum PushProvider: String, CaseIterable, Sendable {
    case apns, fcm
}

/// Where the pushes of a device go: each lane has its own queue and connections, so that the outage of one delays no other.
package enum PushLane: String, CaseIterable, Sendable {
    case apns
    /// APNs' other environment is another host, with another set of tokens.
    case apnsSandbox = "apns-sandbox"
    case fcm

    package var provider: PushProvider { self == .fcm ? .fcm : .apns }
}
