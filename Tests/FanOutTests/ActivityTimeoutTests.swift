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

    // MARK: Rate limit

    /// The number of events, out of `count`, that the limit permits at `now`, which is in milliseconds.
    private func permitted(_ count: Int, of limit: inout EventRateLimit, perSecond: Int, now: Int64) -> Int {
        (0..<count).reduce(0) { permitted, _ in permitted + (limit.consume(perSecond: perSecond, now: now) ? 1 : 0) }
    }

    @Test func e9BurstIsOneSecondsWorth() {
        var limit = EventRateLimit(perSecond: 10, now: 5_000)
        #expect(permitted(20, of: &limit, perSecond: 10, now: 5_000) == 10)
        #expect(permitted(1, of: &limit, perSecond: 10, now: 5_050) == 0, "only half a token was refilled")
        #expect(permitted(2, of: &limit, perSecond: 10, now: 5_125) == 1)
    }

    @Test func e9RefillStopsAtOneSecondsWorth() {
        var limit = EventRateLimit(perSecond: 3, now: 0)
        #expect(permitted(5, of: &limit, perSecond: 3, now: 0) == 3)
        #expect(permitted(5, of: &limit, perSecond: 3, now: 60_000) == 3)
    }

    /// In ten seconds, a limit of ten events per second permits the initial burst of ten, and at most 100 more.
    @Test func e9LongRunStaysAtTheRate() {
        var limit = EventRateLimit(perSecond: 10, now: 0)
        let sent = (Int64(0)..<10_000).reduce(0) { $0 + permitted(1, of: &limit, perSecond: 10, now: $1) }
        #expect((108...110).contains(sent))
    }

    @Test func e9ClockSteppingBackRefillsNothing() {
        var limit = EventRateLimit(perSecond: 1, now: 1_000)
        #expect(permitted(1, of: &limit, perSecond: 1, now: 1_000) == 1)
        #expect(permitted(2, of: &limit, perSecond: 1, now: 500) == 0)
    }
}
