import FleetRules

/// Devices that a lane must not send to for now.
struct DeviceBackoff {
    /// Too many notifications for one device: only its own wait.
    private struct Backoff {
        var until: Int64
        /// When it was refused last: what was under way by then says nothing new.
        var since: Int64
        var refusals: Int
    }

    private let waitMax: Int64
    private var backoffs: [String: Backoff] = [:]
    private var backoffsMax = 1_024
    /// By device: it is dead to jobs that knew it as it was seen before that time.
    private var dead: [String: Int64] = [:]
    /// Those whose removal no report carries yet, and those of the report under way.
    private var unreported: [String] = []
    private var reported: [String] = []

    /// - Parameter waitMax: how long a device rests at most, in milliseconds.
    init(waitMax: Int64) { self.waitMax = waitMax }

    // MARK: Busy ones

    /// The provider has had too many for this device, by a request that began at `begun`. Returns until when it rests:
    /// 1, 2, 4 … s by how often in a row that has happened, or as long as the provider wishes.
    mutating func refuse(_ device: String, begun: Int64, at now: Int64, atLeast wish: Int64 = 0) -> Int64 {
        var rest = backoffs[device] ?? Backoff(until: begun, since: begun, refusals: 0)
        if begun > rest.until + waitMax { rest.refusals = 0 }  // an old story
        if begun >= rest.since {
            rest.until = now + max(min(waitMax, 1_000 << Int64(min(rest.refusals, 30))), wish)
            rest.since = now
            rest.refusals += 1
        }
        if backoffs.count >= backoffsMax { removeElapsed(now) }
        backoffs[device] = rest
        return rest.until
    }

    /// The device takes notifications again.
    mutating func clear(_ device: String) {
        if !backoffs.isEmpty { backoffs[device] = nil }
    }

    /// Until when the device rests; nil when it does not.
    func backoff(of device: String, at now: Int64) -> Int64? {
        guard !backoffs.isEmpty, let rest = backoffs[device], rest.until > now, rest.since <= now else { return nil }
        return rest.until
    }

    /// Those that nothing was sent to since they had rested are as good as new.
    private mutating func removeElapsed(_ now: Int64) {
        backoffs = backoffs.filter { $0.value.until > now }
        backoffsMax = max(1_024, backoffs.count * 2)
    }

    // MARK: Dead ones

    mutating func markDead(_ device: String, _ removal: DeviceRemoval) {
        dead[device] = max(dead[device] ?? .min, removal.ifSeenBefore)
        unreported.append(device)
    }

    /// Whether the job is for a device that is dead. If its app has registered again since, it is not.
    func isDead(_ device: PushJob.Device) -> Bool {
        guard !dead.isEmpty, let before = dead[device.id] else { return false }
        return device.lastSeenAt < before
    }

    var hasReported: Bool { !reported.isEmpty }

    /// A report goes out that tells of all of them.
    mutating func report() {
        reported += unreported
        unreported.removeAll(keepingCapacity: true)
    }

    /// The store has removed those of the report: what it hands over from now on is alive.
    mutating func completeReport() {
        for device in reported { dead[device] = nil }
        reported.removeAll(keepingCapacity: true)
    }
}
