/// A push service.
package enum PushProvider: String, CaseIterable, Sendable {
    case apns, fcm
}
