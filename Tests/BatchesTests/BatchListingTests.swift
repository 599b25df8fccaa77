import JSON
import Primitives
import Testing

@testable import Fleet

@Suite struct BatchListingTests {
    private typealias Fixture = BatchFixture

    private func batch(
        _ number: Int, windowEnd: Int64? = 100, orders: Int = 1, cancelled: Int = 0, earnings: String? = nil,
        place: (String, String)? = nil, zone: Int = 1, _ status: BatchStatus = .ready
    ) -> Batch {
        var batch = Batch(id: Fixture.id(number), createdAt: 0)
        batch.windowEndTime = windowEnd
        batch.estimatedEarnings = earnings.map { JSONNumber(text: $0) }
        batch.zone = Zone(id: Fixture.id(zone))
        batch.kitchen = Kitchen(id: Fixture.id(1))
        batch.kitchen?.address.latitude = (place?.0).map { JSONNumber(text: $0) }
        batch.kitchen?.address.longitude = (place?.1).map { JSONNumber(text: $0) }
        batch.orders = (0..<orders).map { index in
            var order = BatchOrder(id: Fixture.id(index), orderNumber: "", sequenceNumber: index)
            if index < cancelled {
                order.cancellation = OrderCancellation(at: 0, by: .admin, reason: nil, isAfterPickup: false)
            }
            return order
        }
        batch.status = status
        return batch
    }

    private func waiting(_ batches: [Batch]) -> [BatchListing.Waiting] {
        batches.map { BatchListing.Waiting($0, orderCount: $0.counts.total) }
    }

    private func ids(_ listing: BatchListing, _ batches: [Batch]) -> [Int] {
        listing.entries(waiting(batches)).compactMap { Int($0.batch.id.text, radix: 16) }
    }

    @Test func listsWhatWaitsTheOldestWindowFirst() {
        let batches = [
            batch(1, windowEnd: nil), batch(2, windowEnd: 30), batch(4, windowEnd: 20), batch(3, windowEnd: 20),
        ]
        #expect(ids(BatchListing(), batches) == [3, 4, 2, 1])
        #expect(BatchListing().entries(waiting(batches)).allSatisfy { $0.distanceKm == nil })
        for status in BatchStatus.allCases { #expect(ids(BatchListing(), [batch(1, status)]).isEmpty == (status != .ready)) }
        #expect(BatchListing().entries([]).isEmpty)
    }

    @Test func listsOneZone() {
        let batches = [batch(1, zone: 1), batch(2, zone: 2), batch(3, zone: 1)]
        #expect(
            ids(BatchListing(zone: Fixture.id(1)), batches) == [1, 3] && ids(BatchListing(zone: Fixture.id(9)), batches) == [])
    }

    @Test func sortsByOrdersWithoutCancelledOnes() {
        let batches = [
            batch(1, orders: 3, cancelled: 2), batch(2, orders: 2), batch(3, orders: 5), batch(4, windowEnd: 1, orders: 2),
        ]
        #expect(ids(BatchListing(order: .orders), batches) == [3, 4, 2, 1])
    }

    @Test func sortsByEarningsAsNumbers() {
        let batches = [
            batch(1, earnings: nil), batch(2, earnings: "90"), batch(3, earnings: "1e2"), batch(4, earnings: "100.000001"),
            batch(5, earnings: "90.0"),
        ]
        #expect(ids(BatchListing(order: .earnings), batches) == [4, 3, 2, 5, 1])
    }

    /// A degree along a meridian is 111.195 km.
    @Test func sortsByDistanceWithOneDecimal() {
        let batches = [
            batch(1), batch(2, place: ("51", "8")), batch(3, place: ("50.001", "8")), batch(4, place: ("49.9", "8")),
            batch(5, place: ("50", "8.0")),
        ]
        let entries = BatchListing(order: .nearest(latitude: 50, longitude: 8)).entries(waiting(batches))
        #expect(entries.map { $0.batch.id } == [5, 3, 4, 2, 1].map { Fixture.id($0) })
        #expect(entries.map { $0.distanceKm?.text } == ["0.0", "0.1", "11.1", "111.2", nil])
        let antipode = BatchListing(order: .nearest(latitude: -50, longitude: -172)).entries(
            waiting([batch(5, place: ("50", "8"))]))
        #expect(antipode.first?.distanceKm?.text == "20015.1")
    }

    private func query(
        zone: String? = nil, _ sort: String? = nil, _ latitude: String? = nil, _ longitude: String? = nil
    ) throws -> BatchListing {
        try BatchListing(zone: zone, sort: sort, latitude: latitude, longitude: longitude)
    }

    @Test func readsQueries() throws {
        #expect(try query() == BatchListing())
        #expect(try query(zone: Fixture.id(3).text, "orders") == BatchListing(zone: Fixture.id(3), order: .orders))
        #expect(try query("earnings", "x", "y") == BatchListing(order: .earnings))
        #expect(try query("nearest", "-90", "180") == BatchListing(order: .nearest(latitude: -90, longitude: 180)))
    }

    @Test func namesAllWrongParameters() {
        func paths(_ read: () throws -> BatchListing) -> [String]? {
            do {
                _ = try read()
                return nil
            } catch { return (error as? RuleError)?.fields.map(\.path) }
        }
        #expect(paths { try query(zone: "z", "far") } == ["zone", "sort"])
        #expect(paths { try query("nearest") } == ["latitude", "longitude"])
        for wrong in ["", "90.1", "nan", "inf", "x"] { #expect(paths { try query("nearest", wrong, "0") } == ["latitude"]) }
        #expect(paths { try query("nearest", "0", "-180.5") } == ["longitude"])
    }
}
