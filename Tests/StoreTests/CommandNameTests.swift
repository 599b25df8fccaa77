import Primitives
import Testing

@testable import Fleet

@Suite struct CommandNameTests {
    @Test func eachActionHasTheNameUsedInMetrics() {
        let actions: [(IssuedCommand, String)] = [
            (assign("A", to: "42"), "assign"), (order(.removeDriver, "A"), "remove_driver"),
            (command(RouteAction(id: "R", .assign(.init(id: Identifier("42"))))), "route_assign"),
            (command(ChangeDriverCard(driverID: "42", DriverCardChanges())), "driver_update"),
            (command(AcceptJob("A")), "accept"), (command(CorrectArrival("A", reason: nil)), "correct"),
            (command(AcceptRoute("R")), "route_accept"),
            (command(ReportProgress("A", ProgressReport(step: .enRoute))), "progress"), (announceToAll, "announce"),
            (telemetry("N", by: driver("42")), "telemetry"), (command(MarkRead(nil)), "read"),
            (register(fcm("a"), by: driver("42")), "device_register"),
            (unregister(fcm("a"), by: driver("42")), "device_unregister"),
            (command(UpdatePreferences(PreferenceChanges())), "preferences"), (command(Erase(.driver, id: "42")), "erase"),
        ]
        for (command, name) in actions { #expect(command.command.name == name) }
    }
}
