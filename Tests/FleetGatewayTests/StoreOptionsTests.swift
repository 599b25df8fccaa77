import Access
import Configuration
import FanOut
import Fleet
import Server
import TestSupport
import Testing

@testable import FleetGateway
@testable import Realtime

@Suite struct StoreOptionsTests {
    /// Each has a default in the store, too, so that nothing else shows that one is forgotten.
    @Test func theWriterGetsTheSettingsOfDelivery() throws {
        var settings = Settings()
        settings.store.path = "/nonexistent/fleetwire.db"
        settings.store.encryptionKeys = [.init(id: "1", key: String(repeating: "A", count: 43) + "=")]
        settings.store.retentionDays = 3
        settings.fleet.openDays = 5
        settings.delivery.backlogHours = 7
        settings.delivery.confirmSeconds = 9
        settings.push.staleDays = 11
        settings.trips.arrivalMetres = 13
        let hub = SharedHub(wakeups: [Wakeup()], apps: [AppRules()])
        let trips = SharedTrips(
            settings.trips, hub: hub, app: 0, policy: ChannelPolicy([] as [ChannelPolicy.Rule]), counters: FleetCounters())
        let options = try StoreWriter.Options(settings, lanes: [], trips)
        #expect(options.address == .file("/nonexistent/fleetwire.db"))
        #expect(options.retentionDays == 3)
        #expect(options.openDays == 5)
        #expect(options.backlogHours == 7)
        #expect(options.confirmSeconds == 9)
        #expect(options.staleDays == 11)
        #expect(options.trips.arrivalMetres == 13)
    }
}
