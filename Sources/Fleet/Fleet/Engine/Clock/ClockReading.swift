import Threads

/// The wall clock and the machine's uptime, read at the same moment.
package struct ClockReading: Equatable, Sendable {
    /// Milliseconds since 1970. An operator, NTP or a faulty clock chip can set it forward and back.
    package var wall: Int64
    /// Milliseconds since the machine was started, including time in which it was suspended. It cannot be set.
    package var uptime: Int64
    /// Identifies the run of the machine to which ``uptime`` belongs.
    package var bootID: String

    package init(wall: Int64, uptime: Int64, bootID: String) {
        self.wall = wall
        self.uptime = uptime
        self.bootID = bootID
    }

    /// What the clocks show now.
    package static func current() -> ClockReading {
        ClockReading(wall: Clock.unixMilliseconds(), uptime: Clock.uptimeMilliseconds(), bootID: Clock.bootID)
    }

    /// Milliseconds from this reading to a later one. If the machine was restarted in between, the milliseconds since
    /// its start: how long it was off is unknown.
    func elapsed(until later: ClockReading) -> Int64 {
        isSameRun(as: later) ? later.uptime - uptime : later.uptime
    }

    /// Whether the machine was not restarted between this reading and a later one.
    func isSameRun(as later: ClockReading) -> Bool {
        bootID.hasSameBytes(as: later.bootID) && later.uptime >= uptime
    }
}
