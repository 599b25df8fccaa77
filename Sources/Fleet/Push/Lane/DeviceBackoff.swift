import Fleet
import Primitives

/// Devices that the lane must not send to: throttled ones for a while, dead ones until the store has removed them.
struct DeviceBackoff {
    /// The back-off of a device that got too many pushes, according to the provider. Times: milliseconds since 1970.
    private struct Backoff {
        /// When the lane may send to the device again.
        var until: Int64
        /// When the device was last throttled. Throttled requests that started earlier do not count again.
        var since: Int64
        /// How often the device was throttled in a row.
        var count: Int
    }

    private let waitMax: Int64
    private var backoffs: [String: Backoff] = [:]
    /// The number of entries at which elapsed ones are removed.
    private var cleanUpCount = 1_024
    /// The dead devices: by device id, a time in milliseconds since 1970. A job's device is dead only if the job gives
    /// an earlier last-seen time. If the job gives this time or a later one, the app has registered again.
    private var dead: [String: Int64] = [:]
    /// Dead devices that no report contains yet.
    private var unreported: [String] = []
    /// Dead devices in the report under way.
    private var reported: [String] = []

    /// - Parameter waitMax: the longest back-off in milliseconds, unless the provider's retry-after is longer.
    init(waitMax: Int64) { self.waitMax = waitMax }

    // MARK: Throttled devices

    /// The provider throttled a device. Returns when to send to it again: after 1, 2, 4 … s, depending on how often it
    /// was throttled in a row, or after the provider's `retryAfter` if that is longer.
    /// - Parameter startedAt: when the throttled request started.
    mutating func throttle(_ device: String, startedAt: Int64, at now: Int64, atLeast retryAfter: Int64 = 0) -> Int64 {
        var backoff = backoffs[device] ?? Backoff(until: startedAt, since: startedAt, count: 0)
        // The clock was set back: the times of this back-off mean nothing any more.
        if backoff.since > now { backoff = Backoff(until: startedAt, since: startedAt, count: 0) }
        // The last back-off ended so long before this request started that the count begins anew.
        if startedAt > backoff.until + waitMax { backoff.count = 0 }
        if startedAt >= backoff.since {
            backoff.until = now + max(min(waitMax, Timing.pushBackoff << Int64(min(backoff.count, 30))), retryAfter)
            backoff.since = now
            backoff.count += 1
        }
        if backoffs.count >= cleanUpCount { removeElapsed(now) }
        backoffs[device] = backoff
        return backoff.until
    }

    /// Ends the device's back-off, because the provider accepted a push to it.
    mutating func clear(_ device: String) {
        if !backoffs.isEmpty { backoffs[device] = nil }
    }

    /// When the device's back-off ends; nil if it has none, or if the clock was set back to before its beginning.
    func backoff(of device: String, at now: Int64) -> Int64? {
        guard !backoffs.isEmpty, let backoff = backoffs[device], backoff.until > now, backoff.since <= now else { return nil }
        return backoff.until
    }

    /// Removes elapsed back-offs. Without a later push to the device, nothing else removes them.
    private mutating func removeElapsed(_ now: Int64) {
        backoffs = backoffs.filter { $0.value.until > now }
        cleanUpCount = max(1_024, backoffs.count * 2)
    }

    // MARK: Dead devices

    /// The provider rejected the device's token: the lane sends nothing more to it, and reports it to the store.
    mutating func markDead(_ device: String, _ removal: DeviceRemoval) {
        dead[device] = max(dead[device] ?? .min, removal.ifSeenBefore)
        unreported.append(device)
    }

    /// Whether a job's device is dead. It is not if its app has registered again since.
    func isDead(_ device: PushJob.Device) -> Bool {
        guard !dead.isEmpty, let before = dead[device.id] else { return false }
        return device.lastSeenAt < before
    }

    /// Whether the report under way contains dead devices.
    var hasReported: Bool { !reported.isEmpty }

    /// Records that the lane sends a report, which contains all unreported dead devices.
    mutating func beginReport() {
        reported += unreported
        unreported.removeAll(keepingCapacity: true)
    }

    /// Records that the store has removed the report's dead devices. From now on, the devices of all jobs that it
    /// leases are alive.
    mutating func completeReport() {
        for device in reported { dead[device] = nil }
        reported.removeAll(keepingCapacity: true)
    }
}
