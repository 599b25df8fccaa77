import Fleet
import Testing

@testable import FleetGateway

@Suite struct NotificationFunnelTests {
    private func counts(_ states: [NotificationState]) -> NotificationCounts {
        var counts = NotificationCounts()
        for state in states { counts.add(state, of: "job-assigned") }
        return counts
    }

    @Test func countsByPeriod() {
        var funnel = NotificationFunnel()
        funnel.add(counts([.created, .created, .pushed, .confirmed]), minute: 100)
        funnel.add(counts([.created, .received, .viewed, .accepted, .dismissed, .read]), minute: 114)
        #expect(funnel.counts(minutes: 15, until: 114) == [3, 1, 1, 1, 1, 1])
        #expect(funnel.counts(minutes: 15, until: 115) == [1, 0, 1, 1, 1, 1])
        #expect(funnel.counts(minutes: 60, until: 159) == [3, 1, 1, 1, 1, 1])
        #expect(funnel.counts(minutes: 1_440, until: 100 + 1_440) == [1, 0, 1, 1, 1, 1])
        #expect(funnel.counts(minutes: 1_440, until: 3_000) == [0, 0, 0, 0, 0, 0])
    }

    @Test func aMinuteIsUsedAgainADayLater() {
        var funnel = NotificationFunnel()
        funnel.add(counts([.created]), minute: 7)
        funnel.add(counts([.created, .created]), minute: 7 + 1_440)
        #expect(funnel.counts(minutes: 1_440, until: 7 + 1_440) == [2, 0, 0, 0, 0, 0])
    }
}
