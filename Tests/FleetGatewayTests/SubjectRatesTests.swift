import Access
import Fleet
import Observability
import PusherProtocol
import Testing

@testable import FleetGateway
@testable import Realtime

@Suite struct SubjectRatesTests {
    /// A driver who asks for long lists waits as one who asks for many short ones.
    @Test func aLongListTakesTheTokensOfManyShortOnes() {
        var limits = FleetLimits()
        limits.queriesPerSecond = 10
        let rates = SubjectRates(Limits(), limits, NodeMetrics(loopCount: 1, limits: Limit.ofFleet), FleetCounters())
        let greedy = Sender.person(Identity(role: .driver, id: "1"))
        let other = Sender.person(Identity(role: .driver, id: "2"))
        #expect(rates.permits(greedy, .query) && rates.permits(other, .query))
        rates.charge(other, rows: 50)
        rates.charge(greedy, rows: 10_000)
        #expect(!rates.permits(greedy, .query))
        #expect(rates.permits(other, .query) && rates.permits(greedy, .command))
        // Those who have no rate: a backend asks for all dispatchers.
        for backend in [.person(Identity(role: .admin, id: "1")), .person(Identity(role: .ops, id: "1")), Sender.operator] {
            rates.charge(backend, rows: 1_000_000)
            #expect(rates.permits(backend, .query))
        }
    }
}
