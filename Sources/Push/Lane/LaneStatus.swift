/// How a lane is doing. All times are milliseconds since 1970.
package struct LaneStatus: Equatable, Sendable {
    package enum State: String, Sendable {
        case running
        /// For a while.
        case paused
        /// Until somebody has mended something; a probe now and then finds out.
        case stopped
    }

    /// Something that went wrong.
    package struct Failure: Equatable, Sendable {
        package let text: String
        package let at: Int64
    }

    package var state = State.running
    package var since: Int64 = 0
    /// Requests that wait for their answer.
    package var inFlight = 0
    package var lastError: Failure?
    package var lastAcceptedAt: Int64?
    /// Jobs that wait in the store, as it counted a few seconds ago at most, and when the oldest of them was queued; where it
    /// cannot count, those at least whose fate it could not take.
    package var depth = 0
    package var oldestAt: Int64?

    package init() {}
}

/// What a lane remembers for those who ask how it is doing.
struct LaneNotes {
    /// The same alarm is not given again within so many milliseconds.
    private static let alarmInterval: Int64 = 60_000
    /// Alarms are remembered up to so many; they come from a provider's words.
    private static let alarmsMax = 64

    var depth = 0
    var oldestAt: Int64?
    var lastAcceptedAt: Int64?
    private(set) var lastError: LaneStatus.Failure?
    /// Since when the credential is there, or is not.
    var credentialSince: Int64
    /// When it was given last, by its words as bytes: they are the provider's.
    private var alarms: [[UInt8]: Int64] = [:]

    init(since now: Int64) { credentialSince = now }

    mutating func fail(_ text: String, _ now: Int64) {
        lastError = LaneStatus.Failure(text: text, at: now)
    }

    /// Whether an alarm is to be given: not when it was a moment ago.
    mutating func isNewAlarm(_ reason: String, _ now: Int64) -> Bool {
        let words = Array(reason.utf8)
        if let last = alarms[words], now - last < Self.alarmInterval, now >= last { return false }
        if alarms.count >= Self.alarmsMax { alarms.removeAll() }
        alarms[words] = now
        return true
    }
}

extension Lane {
    /// How it is doing.
    package var status: LaneStatus {
        var status = LaneStatus()
        switch congestion.mode {
        case .running: status.state = isCredentialMissing ? .paused : .running
        case .paused: status.state = .paused
        case .stopped: status.state = .stopped
        }
        status.since = max(congestion.since, isCredentialMissing && congestion.mode == .running ? notes.credentialSince : .min)
        status.inFlight = inFlight.count
        status.lastError = notes.lastError
        status.lastAcceptedAt = notes.lastAcceptedAt
        // What it has refused to take has not come to its end there.
        status.depth = max(notes.depth, reports.refusedCount)
        status.oldestAt = notes.oldestAt
        return status
    }
}
