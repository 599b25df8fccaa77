import FanOut
import PusherAPI
import PusherProtocol
import Testing

@testable import Realtime

@Suite struct ConnectionRatesTests {
    private func connection() -> ConnectionRates {
        ConnectionRates(app: Application(index: 0, id: "1", key: "k", secrets: ["s"]), seenAt: 0)
    }

    @Test func measuresFromTheLastPing() {
        var connection = connection()
        #expect(connection.microsecondsSincePing(now: 1_000_000) == nil)
        connection.recordPing(now: 5_000_000)
        #expect(connection.hasBeenPinged)
        #expect(connection.microsecondsSincePing(now: 5_250_999) == 250)
        connection.recordActivity(at: 7)
        #expect(!connection.hasBeenPinged && connection.microsecondsSincePing(now: 6_000_000) == nil)
        #expect(connection.lastSeenAt == 7)
    }

    /// The time wraps after 71 minutes.
    @Test func measuresAcrossTheWrap() {
        var connection = connection()
        let wrap = (UInt64(1) << 32) * 1_000
        connection.recordPing(now: wrap - 300_000)
        #expect(connection.microsecondsSincePing(now: wrap + 200_000) == 500)
        connection.recordPing(now: wrap)
        #expect(connection.hasBeenPinged, "0 means that no ping was sent")
    }

    /// Every connection has one.
    @Test func isSmall() {
        #expect(MemoryLayout<ConnectionRates>.size <= 40)
    }
}
