import Fleet
import JSON
import Testing

/// The coordinates of an order are its fields like others, but its events do not contain them.
@Suite struct OrderCoordinatesTests {
    private static let pickup = Coordinates(latitude: JSONNumber(text: "51.5074"), longitude: JSONNumber(text: "-0.12780"))
    private static let dropoff = Coordinates(latitude: JSONNumber(text: "47.3769"), longitude: JSONNumber(text: "8.5417"))
    private static let kinds: [OrderAction.Kind] = [.assign(to: "7"), .unassign, .removeDriver, .cancel, .update]

    private static func action(_ kind: OrderAction.Kind) -> OrderAction {
        var action = RulesFixture.orderAction(kind)
        action.changes.pickupCoordinates = .set(pickup)
        action.changes.dropoffCoordinates = .set(dropoff)
        return action
    }

    @Test(arguments: kinds) func everyActionStoresThemAndOnlyTheResponseShowsThem(kind: OrderAction.Kind) throws {
        var planner = RulesFixture.planner()
        let order = RulesFixture.order(.assigned, driver: "42")
        let plan = try planner.plan(Self.action(kind), for: order, RulesFixture.context())
        #expect(plan.order?.pickupCoordinates == Self.pickup && plan.order?.dropoffCoordinates == Self.dropoff)
        #expect(
            plan.responseText.contains(
                #""pickupLatitude":51.5074,"pickupLongitude":-0.12780,"dropoffLatitude":47.3769,"dropoffLongitude":8.5417,"#))
        #expect(plan.notifications.isEmpty == (kind == .update))
        for notification in plan.notifications {
            #expect(!notification.text.contains("itude") && !notification.text.contains("51.5074"), "\(notification.text)")
        }
        #expect(
            plan.audit?.detailsText?.contains(
                #""fields":["pickupLatitude","pickupLongitude","dropoffLatitude","dropoffLongitude"]"#) == true)
    }

    @Test func eachPairIsKeptAndClearedByItself() throws {
        var planner = RulesFixture.planner()
        var order = RulesFixture.order()
        (order.pickupCoordinates, order.dropoffCoordinates) = (Self.pickup, Self.dropoff)
        var action = RulesFixture.orderAction(.update)
        action.changes.pickupCoordinates = .clear
        let plan = try planner.plan(action, for: order, RulesFixture.context())
        #expect(plan.order?.pickupCoordinates == nil && plan.order?.dropoffCoordinates == Self.dropoff)
        #expect(plan.order?.assignment.version == 6)
        #expect(plan.responseText.contains(#""pickupLatitude":null,"pickupLongitude":null,"dropoffLatitude":47.3769"#))
        #expect(plan.audit?.detailsText == #"{"fields":["pickupLatitude","pickupLongitude"]}"#)
    }

    @Test func theSamePlaceChangesNothing() throws {
        var planner = RulesFixture.planner()
        var order = RulesFixture.order()
        (order.pickupCoordinates, order.dropoffCoordinates) = (Self.pickup, Self.dropoff)
        let plan = try planner.plan(Self.action(.update), for: order, RulesFixture.context())
        #expect(plan.order == nil && plan.audit == nil)
    }
}
