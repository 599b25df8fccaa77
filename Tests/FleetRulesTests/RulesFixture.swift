import Access
import FleetRules
import JSON
import Primitives
import Testing

/// What all tests of the rules share: one moment, one dispatcher, one driver, an order and a route with all their fields.
enum RulesFixture {
    /// 2026-11-21T09:30:00.123Z
    static let now: Int64 = 1_795_253_400_123
    static let admin = Identity(role: .admin, id: "1", name: "Ada")
    static let driver = Identity(role: .driver, id: "42", name: "Dan Driver")

    static func occasion(
        by actor: Identity = admin, at now: Int64 = now, expectedVersion: Int? = nil, rules: NotificationRules = .init()
    ) -> CommandContext {
        CommandContext(actor: actor, now: now, correlationID: "c-1", expectedVersion: expectedVersion, rules: rules)
    }

    static func order(_ status: JobStatus = .available, driver: String? = nil, name: String? = nil) -> Order {
        var order = Order(code: "ORD-1")
        order.status = status
        order.driverID = driver
        order.driverName = name
        order.version = 5
        order.bookingID = "B-1"
        order.bookingReference = "REF-1"
        order.customerID = "c7"
        order.customerName = "Cy Customer"
        order.pickupAddress = "1 High St"
        order.dropoffAddress = "2 Low St"
        order.scheduledAt = "2026-11-22T08:00:00Z"
        order.totalGBP = JSONNumber(text: "49.90")
        return order
    }

    static func route(_ status: JobStatus = .available, driver: String? = nil, name: String? = nil) -> Route {
        var route = Route(id: "R-1")
        route.status = status
        route.driverID = driver
        route.driverName = name
        route.version = 5
        route.routeNumber = "N17"
        route.bookingsCount = JSONNumber(text: "3")
        route.dropsCount = JSONNumber(text: "7")
        route.earningsAdjustment = JSONNumber(text: "-2.50")
        return route
    }

    static func orderDeed(
        _ action: OrderAction.Kind, driver: String? = nil, name: String? = nil, reason: String? = nil
    ) -> OrderAction {
        var deed = OrderAction(code: "ORD-1", action: action)
        deed.driverID = driver
        deed.driverName = name
        deed.reason = reason
        return deed
    }

    static func routeDeed(
        _ action: RouteAction.Kind, driver: String? = nil, name: String? = nil, reason: String? = nil
    ) -> RouteAction {
        var deed = RouteAction(id: "R-1", action: action)
        deed.driverID = driver
        deed.driverName = name
        deed.reason = reason
        return deed
    }

    static func rulebook() -> DispatchPlanner { DispatchPlanner(ids: ULIDSource(random: { 0 })) }
}

extension DispatchPlan {
    /// `channel event`, in the order of telling.
    var said: [String] { notifications.map { "\($0.channel) \($0.event)" } }

    var answerText: String { String(decoding: response, as: UTF8.self) }
}

extension Notification {
    var text: String { String(decoding: data, as: UTF8.self) }
}

/// Members of an object as written, by name, each value as its raw JSON; fails the test when it is no object.
func members(_ json: [UInt8]) throws -> [(name: String, value: String)] {
    var all: [(String, String)] = []
    try json.withUnsafeBytes { bytes in
        try JSONReader.object(bytes) { all.append(($0.string ?? "", String(decoding: $1.raw, as: UTF8.self))) }
    }
    return all
}

func member(_ name: String, of json: [UInt8]) throws -> String? { try members(json).first { $0.name == name }?.value }

/// The refusal that `body` throws; the test fails when it does not.
func refusal(_ location: SourceLocation = #_sourceLocation, of body: () throws(RuleError) -> DispatchPlan) -> RuleError? {
    do throws(RuleError) {
        let decision = try body()
        Issue.record("not refused: \(decision.answerText)", sourceLocation: location)
        return nil
    } catch {
        return error
    }
}
