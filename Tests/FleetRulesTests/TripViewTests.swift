import Fleet
import Primitives
import Testing

@Suite struct TripViewTests {
    /// The trip's status and, in minutes after the present time, when the driver will be or was at the next place.
    private static let views: [(JobStatus, TripStatus?, estimated: Int64?)] = [
        (.available, nil, nil), (.assigned, nil, nil), (.accepted, nil, nil), (.enRoute, .enRoute, 12), (.arrived, .arrived, -1),
        (.loading, .pickupComplete, 24), (.inTransit, .droppingOff, 24), (.unloading, .droppingOff, 24),
        (.completed, .complete, -2), (.cancelled, .canceled, nil),
    ]

    @Test func coversEveryStatus() { #expect(Self.views.map(\.0) == JobStatus.allCases) }

    /// The driver is 4,615 m from the pickup and twice as far from the drop-off: 12 and 24 minutes at 30 km/h, with a
    /// detour factor of 1.3.
    @Test(arguments: views.indices) func estimatesTheNextPlace(index: Int) {
        let (status, trip, estimated) = Self.views[index]
        let now = RulesFixture.now
        var order = RulesFixture.order(status, driver: "42")
        order.pickupCoordinates = Coordinates(latitude: .init(text: "0"), longitude: .init(text: "0.0415"))
        order.dropoffCoordinates = Coordinates(latitude: .init(text: "0"), longitude: .init(text: "-0.083"))
        order.trip.startedAt = now - 600_000
        order.trip.arrivedAt = now - 60_000
        order.trip.completedAt = now - 120_000
        var track = Track()
        track.add(Position(latitude: 0, longitude: 0, recordedAt: now), TripRules())
        let view = TripView(order, card: nil, track: track, now: now, TripRules())
        #expect(view.status == trip)
        #expect(view.estimatedArrival == estimated.map { now + $0 * 60_000 })
    }

    @Test func anUnknownETAGivesNoTime() {
        var order = RulesFixture.order(.enRoute, driver: "42")
        order.trip.startedAt = RulesFixture.now
        #expect(TripView(order, card: nil, now: RulesFixture.now, TripRules()).estimatedArrival == nil)
    }
}
