/// The time for decisions that cannot be undone, such as the deletion of rows that are 30 days old: if the wall clock
/// jumps forward, the trusted time does not.
///
/// The trusted time follows the wall clock, but advances at most a tenth faster than the machine's uptime, and is never
/// ahead of the wall clock. So it follows at once if the clock is set back, and a small step forward is caught up with
/// gradually. When the wall clock is more than ``jumpMin`` ahead, it has jumped: from then on the trusted time advances
/// exactly as the uptime, and nothing is deleted by age, until one of these:
///
/// - The wall clock is back: at most ``jumpMin`` ahead again.
/// - It has advanced exactly as the uptime for ``agreementMin``.
/// - An operator confirms it (``confirm(_:)``).
///
/// The trusted time survives restarts (``ClockKeeper``), because the uptime continues when the process is restarted.
/// When the machine is restarted, only the time since its start is known. If it was off for more than ``jumpMin``, this
/// cannot be told apart from a jump, and counts as one.
package struct TrustedClock: Equatable {
    /// Milliseconds by which the wall clock must be ahead to have jumped.
    static let jumpMin: Int64 = 600_000
    /// Milliseconds after which a wall clock that has jumped is trusted, if it has not jumped again.
    static let agreementMin: Int64 = 86_400_000
    /// The trusted time advances by at most one tenth more than the uptime.
    private static let slackDivisor: Int64 = 10
    /// Milliseconds of uptime from one ``anchor`` to the next. With a new anchor at each reading, a tenth of the few
    /// milliseconds in between would be rounded down to nothing.
    private static let anchorInterval: Int64 = 1_000

    /// What a reading has changed.
    package enum Change: Equatable, Sendable {
        /// The wall clock has jumped forward, or jumped again. `ahead`: see ``lead``.
        case jumped(ahead: Int64)
        /// The wall clock is trusted again.
        case trusted(Reason)
    }

    /// Why a wall clock that has jumped is trusted again.
    package enum Reason: String, Sendable {
        case returned, agreed, confirmed
    }

    /// A moment at which the trusted time is known. Its `wall` is the trusted time, not the wall clock's.
    private(set) var anchor: ClockReading
    /// Since when the wall clock, which has jumped, has advanced as the uptime; nil while it is trusted.
    private(set) var suspect: ClockReading?
    /// Milliseconds by which the wall clock was ahead of the trusted time at the last reading; at least 0.
    private(set) var lead: Int64 = 0

    /// - Parameters:
    ///   - anchor: a moment at which the wall clock was trusted.
    ///   - suspect: see ``suspect``.
    init(anchor: ClockReading, suspect: ClockReading? = nil) {
        self.anchor = anchor
        self.suspect = suspect
    }

    var isTrusted: Bool { suspect == nil }

    /// Handles a reading of the clocks.
    mutating func observe(_ reading: ClockReading) -> Change? {
        let elapsed = anchor.elapsed(until: reading)
        // The limit is for long times without readings: in a week, a tenth would hide a jump of half a day.
        let slack = isTrusted ? min(elapsed / Self.slackDivisor, Self.jumpMin) : 0
        let time = min(reading.wall, anchor.wall + elapsed + slack)
        lead = reading.wall - time
        let hasJumped = isTrusted && lead > Self.jumpMin
        let isSetBack = time < anchor.wall
        if hasJumped || isSetBack || elapsed >= Self.anchorInterval || !anchor.isSameRun(as: reading) {
            anchor = reading
            anchor.wall = time
        }
        if let suspect { return review(suspect, reading) }
        guard hasJumped else { return nil }
        suspect = reading
        return .jumped(ahead: lead)
    }

    /// Handles a reading while the wall clock is not trusted.
    private mutating func review(_ start: ClockReading, _ reading: ClockReading) -> Change? {
        if lead <= Self.jumpMin {
            suspect = nil
            return .trusted(.returned)
        }
        let elapsed = start.elapsed(until: reading)
        guard abs(reading.wall - start.wall - elapsed) <= Self.jumpMin else {
            suspect = reading
            return .jumped(ahead: lead)
        }
        guard elapsed >= Self.agreementMin else { return nil }
        confirm(reading)
        return .trusted(.agreed)
    }

    /// Trusts a reading: its `wall` was the right time.
    mutating func confirm(_ reading: ClockReading) {
        anchor = reading
        suspect = nil
        lead = 0
    }
}
