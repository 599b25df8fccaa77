import Glibc
import JSON
import Primitives

/// Which batches a driver who looks for one wants to see, and in which order.
package struct BatchListing: Equatable, Sendable {
    /// The order of the list. Equal batches are listed by the end of their window.
    package enum Order: Equatable, Sendable {
        /// The earliest end of the window first.
        case windowEnd
        /// The nearest kitchen first; those without a known place last. In degrees.
        case nearest(latitude: Double, longitude: Double)
        /// The most orders first.
        case orders
        /// The highest earnings first; those without known earnings last.
        case earnings
    }

    /// Nil: all zones.
    package let zone: ObjectID?
    package let order: Order

    package init(zone: ObjectID? = nil, order: Order = .windowEnd) {
        self.zone = zone
        self.order = order
    }

    /// A batch that waits for a driver. Its orders may be left out: the list shows only their number.
    package struct Waiting: Equatable, Sendable {
        package let batch: Batch
        /// All orders but the cancelled ones.
        package let orderCount: Int

        package init(_ batch: Batch, orderCount: Int) {
            self.batch = batch
            self.orderCount = orderCount
        }
    }

    /// A batch of the list.
    package struct Entry: Equatable, Sendable {
        package let batch: Batch
        package let orderCount: Int
        /// The way to the kitchen as the crow flies, with one decimal. Nil: not asked for, or not known.
        package let distanceKm: JSONNumber?

        fileprivate init(_ waiting: Waiting, distanceKm: JSONNumber? = nil) {
            batch = waiting.batch
            orderCount = waiting.orderCount
            self.distanceKm = distanceKm
        }
    }

    /// The list of the batches that wait for a driver.
    package func entries(_ batches: some Sequence<Waiting>) -> [Entry] {
        let listed = batches.filter { $0.batch.status == .ready && (zone == nil || $0.batch.zone?.id == zone) }
            .sorted { ($0.batch.windowEndTime ?? .max, $0.batch.id.text) < ($1.batch.windowEndTime ?? .max, $1.batch.id.text) }
        switch order {
        case .windowEnd: return listed.map { Entry($0) }
        case .orders: return Self.descending(listed) { $0.orderCount }
        case .earnings: return Self.descending(listed) { $0.batch.estimatedEarnings.flatMap { Money($0) } }
        case .nearest(let latitude, let longitude):
            let distances = listed.map { ($0, $0.batch.kitchen?.address.metres(toLatitude: latitude, longitude: longitude)) }
            return distances.stablySorted { ($0.1 ?? .infinity) < ($1.1 ?? .infinity) }
                .map { Entry($0, distanceKm: $1.map(Self.kilometres)) }
        }
    }

    /// - Parameter value: nil sorts last.
    private static func descending<Value: Comparable>(_ batches: [Waiting], by value: (Waiting) -> Value?) -> [Entry] {
        batches.map { ($0, value($0)) }
            .stablySorted { one, other in
                guard let first = one.1 else { return false }
                return other.1.map { first > $0 } ?? true
            }
            .map { Entry($0.0) }
    }

    private static func kilometres(_ metres: Double) -> JSONNumber {
        let tenths = Int((metres / 100).rounded())
        return JSONNumber(text: "\(tenths / 10).\(tenths % 10)")
    }
}

extension BatchListing {
    /// Checks the query of a request. Latitude and longitude are needed for `nearest` only.
    /// - Throws: `.invalid` (400) with all fields that are wrong.
    package init(zone: String?, sort: String?, latitude: String?, longitude: String?) throws(RuleError) {
        var wrong: [RuleError.Field] = []
        let zoneID = zone.flatMap { ObjectID($0) }
        if zone != nil, zoneID == nil { wrong.append(.init("zone", "Zone must be an id of 24 hexadecimal digits")) }
        var order = Order.windowEnd
        switch sort.map({ Sort(word: $0) }) {
        case .none: break
        case .some(.none): wrong.append(.init("sort", "Sort must be one of nearest, orders, earnings"))
        case .orders: order = .orders
        case .earnings: order = .earnings
        case .nearest:
            let degrees = (Self.degrees(latitude, 90), Self.degrees(longitude, 180))
            if degrees.0 == nil { wrong.append(.init("latitude", "Latitude must be a number from -90 to 90")) }
            if degrees.1 == nil { wrong.append(.init("longitude", "Longitude must be a number from -180 to 180")) }
            order = .nearest(latitude: degrees.0 ?? 0, longitude: degrees.1 ?? 0)
        }
        guard wrong.isEmpty else { throw RuleError(fields: wrong) }
        self.init(zone: zoneID, order: order)
    }

    private enum Sort: String, CaseIterable { case nearest, orders, earnings }

    private static func degrees(_ text: String?, _ limit: Double) -> Double? {
        text.flatMap { Double($0) }.flatMap { -limit...limit ~= $0 ? $0 : nil }
    }
}

extension KitchenAddress {
    /// The mean radius of the earth in metres (IUGG, R1).
    private static let earthRadius = 6_371_008.8

    /// The length of the great circle to a place, by the haversine formula. Nil if the kitchen's place is not known.
    fileprivate func metres(toLatitude otherLatitude: Double, longitude otherLongitude: Double) -> Double? {
        guard let latitude = latitude.flatMap({ Double($0.text) }), let longitude = longitude.flatMap({ Double($0.text) })
        else { return nil }
        let radians = Double.pi / 180
        let north = sin((otherLatitude - latitude) * radians / 2)
        let east = sin((otherLongitude - longitude) * radians / 2)
        let square = north * north + cos(latitude * radians) * cos(otherLatitude * radians) * east * east
        return 2 * Self.earthRadius * asin(min(1, square.squareRoot()))
    }
}

extension Array {
    /// Sorts so that equal elements keep their order, which `sorted(by:)` does not promise.
    fileprivate func stablySorted(by precedes: (Element, Element) -> Bool) -> [Element] {
        enumerated()
            .sorted { precedes($0.element, $1.element) || !precedes($1.element, $0.element) && $0.offset < $1.offset }
            .map(\.element)
    }
}
