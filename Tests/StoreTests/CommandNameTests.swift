import Primitives
import Testing

@testable import Fleet

@Suite struct CommandNameTests {
    @Test func eachActionHasTheNameUsedInMetrics() {
        let actions: [(Command, String)] = [
            (assign("A", to: "42"), "assign"), (order(.removeDriver, "A"), "remove_driver"),
            (command(.route(RouteAction(id: "R", .assign(.init(id: Identifier("42")))))), "route_assign"),
            (command(.driverCard(driverID: "42", DriverCardChanges())), "driver_update"),
            (command(.acceptJob("A")), "accept"), (command(.correctArrival("A", reason: nil)), "correct"),
            (command(.acceptRoute("R")), "route_accept"),
            (command(.progress("A", ProgressReport(step: .enRoute))), "progress"), (announceToAll, "announce"),
            (telemetry("N", by: driver("42")), "telemetry"), (command(.markRead(nil)), "read"),
            (register(fcm("a"), by: driver("42")), "device_register"),
            (unregister(fcm("a"), by: driver("42")), "device_unregister"),
            (command(.updatePreferences(PreferenceChanges())), "preferences"), (command(.erase(.driver, id: "42")), "erase"),
        ]
        for (command, name) in actions { #expect(command.action.name == name) }
    }
}
