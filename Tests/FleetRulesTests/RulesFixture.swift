import Access
import Fleet
import JSON
import Primitives
import Testing

/// Values that the tests of the rules share: a time, an admin, a driver, and an order and a route with all fields set.
enum RulesFixture {
    /// 2026-11-21T09:30:00.123Z, in milliseconds since 1970.
    static let now: Int64 = 1_795_253_400_123
    static let admin = Identity(role: .admin, id: "1", name: "Ada")
    static let driver = Identity(role: .driver, id: "42", name: "Dan Driver")

    static func context(
        by actor: Identity = admin, at now: Int64 = now, expectedVersion: Int? = nil, rules: NotificationRules = .init()
    ) -> CommandContext {
        CommandContext(
            sender: .person(actor), now: now, correlationID: "c-1", expectedVersions: expectedVersion.map { [$0] }, rules: rules)
    }

    static func order(_ status: JobStatus = .available, driver: String? = nil, name: String? = nil) -> Order {
        var order = Order(code: "ORD-1")
        order.assignment = Assignment(status: status, driver: .init(driver, name), version: 5)
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
        route.assignment = Assignment(status: status, driver: .init(driver, name), version: 5)
        route.routeNumber = "N17"
        route.bookingsCount = JSONNumber(text: "3")
        route.dropsCount = JSONNumber(text: "7")
        route.earningsAdjustment = JSONNumber(text: "-2.50")
        return route
    }

    static func orderAction(_ kind: OrderAction.Kind, fallback: String? = nil, reason: String? = nil) -> OrderAction {
        var action = OrderAction(code: "ORD-1", kind)
        action.fallbackDriver = fallback.map(Identifier.init)
        action.reason = reason
        return action
    }

    static func routeAction(_ kind: RouteAction.Kind, fallback: String? = nil, reason: String? = nil) -> RouteAction {
        var action = RouteAction(id: "R-1", kind)
        action.fallbackDriver = fallback.map(Identifier.init)
        action.reason = reason
        return action
    }

    /// A planner whose notification ids have 0 as their random part.
    static func planner() -> DispatchPlanner { DispatchPlanner(ids: ULIDSource(random: { 0 })) }
}

extension Assignment.Driver? {
    init(_ id: String?, _ name: String?) { self = id.map { Assignment.Driver(id: Identifier($0), name: name) } }
}

extension OrderAction.Kind {
    static func assign(to id: String, name: String? = nil) -> Self { .assign(.init(id: Identifier(id), name: name)) }
}

extension RouteAction.Kind {
    static func assign(to id: String, name: String? = nil) -> Self { .assign(.init(id: Identifier(id), name: name)) }
}

extension DispatchPlan {
    /// `channel event` of each notification.
    var published: [String] { notifications.map { "\($0.channel) \($0.event)" } }

    /// The JSON of the response to a request with the correlation id `c-1`.
    var responseText: String {
        String(decoding: FleetResponses.body(of: response, correlationID: "c-1"), as: UTF8.self)
    }
}

extension Notification {
    var text: String { String(decoding: data, as: UTF8.self) }
}

extension AuditEntry {
    var detailsText: String? { details.map { String(decoding: $0, as: UTF8.self) } }
}

/// The members of an object in the order written, each value as raw JSON. Throws if `json` is not an object.
func members(_ json: [UInt8]) throws -> [(name: String, value: String)] {
    var all: [(String, String)] = []
    try json.withUnsafeBytes { bytes in
        try JSONReader.object(bytes) { all.append(($0.string ?? "", String(decoding: $1.raw, as: UTF8.self))) }
    }
    return all
}

func member(_ name: String, of json: [UInt8]) throws -> String? { try members(json).first { $0.name == name }?.value }

/// The error that `body` throws. Records an issue and returns nil if it throws none.
func ruleError(
    _ location: SourceLocation = #_sourceLocation, of body: () throws(RuleError) -> DispatchPlan
) -> RuleError? {
    do throws(RuleError) {
        let plan = try body()
        Issue.record("not rejected: \(plan.responseText)", sourceLocation: location)
        return nil
    } catch {
        return error
    }
}
