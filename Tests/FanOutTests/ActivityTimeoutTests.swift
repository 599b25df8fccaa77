import FanOut
import Testing

/// Tests two things: when the server pings and closes a silent connection (protocol point P4), and the rate limit of
/// client events (E9).
@Suite struct ActivityTimeoutTests {
    /// `silence`: seconds since the client's last frame. `hasPinged`: whether the server has pinged since that frame.
    static let actions: [(silence: Int, hasPinged: Bool, action: ActivityTimeout.Action)] = [
        (0, false, .wait), (120, false, .wait), (149, false, .wait), (150, false, .ping), (1_000, false, .ping),
        (150, true, .wait), (179, true, .wait), (180, true, .close), (1_000, true, .close), (0, true, .wait),
    ]

    /// With a timeout of 120 s the client pings at 120 s, the server pings at 150 s and closes at 180 s.
    @Test(arguments: actions) func p4PingsBeforeClosing(silence: Int, hasPinged: Bool, action: ActivityTimeout.Action) {
        #expect(ActivityTimeout(activitySeconds: 120).action(silence: silence, hasPinged: hasPinged) == action)
    }

    @Test(arguments: [1, 2, 3, 5, 7, 30, 120, 3_600])
    func p4PingsOnlyAfterTheClientsOwnTimeout(seconds: Int) {
        let timeout = ActivityTimeout(activitySeconds: seconds)
        #expect(timeout.activitySeconds == seconds)
        #expect(timeout.action(silence: seconds, hasPinged: false) == .wait)
        let pingedAt = (0...).first { timeout.action(silence: $0, hasPinged: false) == .ping } ?? 0
        let closedAt = (0...).first { timeout.action(silence: $0, hasPinged: true) == .close } ?? 0
        #expect(pingedAt > seconds && closedAt >= pingedAt && closedAt <= 2 * seconds)
    }
}
