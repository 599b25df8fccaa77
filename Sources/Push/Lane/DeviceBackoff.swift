import FleetRules

/// Devices that the lane must not send to: throttled ones for a while, dead ones until the store has removed them.
struct DeviceBackoff {
    /// The provider rejected a push because the device got too many.
    private struct Backoff {
        var until: Int64
        /// When the device was last throttled. Throttled requests that started earlier do not count again.
        var since: Int64
        /// How often the device was throttled in a row.
        var count: Int
    }

    private let waitMax: Int64
    private var backoffs: [String: Backoff] = [:]
    /// The number of entries at which elapsed ones are removed.
    private var backoffsMax = 1_024
    /// By device id, in milliseconds since 1970: the device is dead if a job says that it was last seen before that
    /// time. If it was seen later, its app has registered again.
    private var dead: [String: Int64] = [:]
    /// Dead devices that no report contains yet, and those of the report under way.
    private var unreported: [String] = []
    private var reported: [String] = []

    /// - Parameter waitMax: the longest back-off in milliseconds.
    init(waitMax: Int64) { self.waitMax = waitMax }

    // MARK: Throttled devices

    /// The provider throttled a device. Returns when to send to it again: after 1, 2, 4 … s by how often in a row it
    /// was throttled, or after the provider's `retryAfter` if that is longer.
    mutating func throttle(_ device: String, startedAt: Int64, at now: Int64, atLeast retryAfter: Int64 = 0) -> Int64 {
        var backoff = backoffs[device] ?? Backoff(until: startedAt, since: startedAt, count: 0)
        // Too long ago to count as in a row.
        if startedAt > backoff.until + waitMax { backoff.count = 0 }
        if startedAt >= backoff.since {
            backoff.until = now + max(min(waitMax, 1_000 << Int64(min(backoff.count, 30))), retryAfter)
            backoff.since = now
            backoff.count += 1
        }
        if backoffs.count >= backoffsMax { removeElapsed(now) }
        backoffs[device] = backoff
        return backoff.until
    }

    /// The provider accepted a push to the device.
    mutating func clear(_ device: String) {
        if !backoffs.isEmpty { backoffs[device] = nil }
    }

    /// When the device's back-off ends; nil if it has none, or if the clock was set back to before its beginning.
    func backoff(of device: String, at now: Int64) -> Int64? {
        guard !backoffs.isEmpty, let backoff = backoffs[device], backoff.until > now, backoff.since <= now else { return nil }
        return backoff.until
    }

    /// Removes elapsed back-offs of devices without pushes since.
    private mutating func removeElapsed(_ now: Int64) {
        backoffs = backoffs.filter { $0.value.until > now }
        backoffsMax = max(1_024, backoffs.count * 2)
    }

    // MARK: Dead devices

    mutating func markDead(_ device: String, _ removal: DeviceRemoval) {
        dead[device] = max(dead[device] ?? .min, removal.ifSeenBefore)
        unreported.append(device)
    }

    /// Whether the job's device is dead. It is not if its app has registered again since.
    func isDead(_ device: PushJob.Device) -> Bool {
        guard !dead.isEmpty, let before = dead[device.id] else { return false }
        return device.lastSeenAt < before
    }

    /// Whether the report under way contains dead devices.
    var hasReported: Bool { !reported.isEmpty }

    /// A report with all dead devices goes out.
    mutating func report() {
        reported += unreported
        unreported.removeAll(keepingCapacity: true)
    }

    /// The store has removed the report's devices. The devices of the jobs it leases from now on are alive.
    mutating func completeReport() {
        for device in reported { dead[device] = nil }
        reported.removeAll(keepingCapacity: true)
    }
}
