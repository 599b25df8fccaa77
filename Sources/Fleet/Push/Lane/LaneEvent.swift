import Fleet
import Primitives

/// An event of a lane, for metrics and log. A lane's events cover only jobs whose result the lane knows. The store
/// logs and counts the others: removed devices, and jobs that expired or were cancelled before a lane leased them.
package enum LaneEvent: Equatable, Sendable {
    /// `seconds`, here and below: from the request's start to its end.
    case accepted(PushJob, seconds: Double)
    /// The provider rejected the push. The store decides whether the job has failed: the device may have a new token.
    case rejected(PushJob, reason: String, seconds: Double)
    /// An attempt failed; the job goes back to the store.
    case retried(PushJob, reason: String, seconds: Double)
    case expired(PushJob)
    case cancelled(PushJob, reason: String)
    /// An operator has to act. The text names the lane and the reason.
    case alarm(String)
    /// The lane does not send for this many milliseconds; nil: until a credential is available.
    case paused(reason: String, milliseconds: Int64?)
    /// The lane sends again.
    case resumed
    /// `kind` is the label of `push_credential_renewals_total`: `apns_jwt` or `fcm_oauth`.
    case credentialRenewed(kind: String)
    /// All connections were closed.
    case connectionRetired(reason: String)
}

/// Limits equal alarms to one a minute.
struct AlarmThrottle {
    /// Maximum number of alarms remembered. Their texts contain a provider's reasons, so there may be more: then all
    /// remembered alarms are forgotten.
    private static let countMax = 64

    /// When each alarm was last emitted, by its text's bytes.
    private var times: [[UInt8]: Int64] = [:]

    /// Whether to emit the alarm; records it if so.
    mutating func permits(_ text: String, at now: Int64) -> Bool {
        let text = Array(text.utf8)
        if let last = times[text], now - last < Timing.laneEventInterval, now >= last { return false }
        if times.count >= Self.countMax { times.removeAll() }
        times[text] = now
        return true
    }
}
