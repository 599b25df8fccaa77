import FanOut
import Testing

/// Pinging and closing idle connections, and the rate limit of client events (PROTOCOL P4, E9).
@Suite struct ActivityTimeoutTests {
    static let actions: [(silence: Int, hasPinged: Bool, action: ActivityTimeout.Action)] = [
        (0, false, .idle), (120, false, .idle), (149, false, .idle), (150, false, .ping), (1_000, false, .ping),
        (150, true, .idle), (179, true, .idle), (180, true, .close), (1_000, true, .close), (0, true, .idle),
    ]

    /// With a timeout of 120 s the client pings at 120 s, the server pings at 150 s and closes at 180 s.
    @Test(arguments: actions) func p4PingsBeforeClosing(silence: Int, hasPinged: Bool, action: ActivityTimeout.Action) {
        #expect(ActivityTimeout(activitySeconds: 120).action(silence: silence, hasPinged: hasPinged) == action)
    }

    @Test(arguments: [1, 2, 3, 5, 7, 30, 120, 3_600])
    func p4PingsOnlyAfterTheClientsOwnTimeout(seconds: Int) {
        let patience = ActivityTimeout(activitySeconds: seconds)
        #expect(patience.activitySeconds == seconds)
        #expect(patience.action(silence: seconds, hasPinged: false) == .idle)
        let asked = (0...).first { patience.action(silence: $0, hasPinged: false) == .ping } ?? 0
        let given = (0...).first { patience.action(silence: $0, hasPinged: true) == .close } ?? 0
        #expect(asked > seconds && given >= asked && given <= 2 * seconds)
    }

    // MARK: Events

    /// The number of events, out of `count`, that the limit permits at a moment.
    private func taken(_ count: Int, of allowance: inout EventRateLimit, perSecond: Int, now: Int64) -> Int {
        (0..<count).reduce(0) { sent, _ in sent + (allowance.consume(perSecond: perSecond, now: now) ? 1 : 0) }
    }

    @Test func e9BurstIsOneSecondsWorth() {
        var allowance = EventRateLimit(perSecond: 10, now: 5_000)
        #expect(taken(20, of: &allowance, perSecond: 10, now: 5_000) == 10)
        #expect(taken(1, of: &allowance, perSecond: 10, now: 5_050) == 0, "half an event")
        #expect(taken(2, of: &allowance, perSecond: 10, now: 5_125) == 1)
    }

    @Test func e9RefillStopsAtOneSecondsWorth() {
        var allowance = EventRateLimit(perSecond: 3, now: 0)
        #expect(taken(5, of: &allowance, perSecond: 3, now: 0) == 3)
        #expect(taken(5, of: &allowance, perSecond: 3, now: 60_000) == 3)
    }

    @Test func e9LongRunStaysAtTheRate() {
        var allowance = EventRateLimit(perSecond: 10, now: 0)
        let sent = (Int64(0)..<10_000).reduce(0) { $0 + taken(1, of: &allowance, perSecond: 10, now: $1) }
        #expect((108...110).contains(sent))
    }

    @Test func e9ClockSteppingBackRefillsNothing() {
        var allowance = EventRateLimit(perSecond: 1, now: 1_000)
        #expect(taken(1, of: &allowance, perSecond: 1, now: 1_000) == 1)
        #expect(taken(2, of: &allowance, perSecond: 1, now: 500) == 0)
    }
}
