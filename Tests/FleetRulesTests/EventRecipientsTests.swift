import Testing

@testable import Fleet

@Suite struct EventRecipientsTests {
    /// The events of every transition, and the channels on which each is published.
    private static let channels: [String: Set<String>] = {
        let orders: [OrderTransition] = OrderTransition.samples(driver: "42", name: nil)
        let routes: [RouteTransition] = RouteTransition.samples(driver: "42", name: nil)
        let drafts =
            orders.flatMap { $0.events(of: Order(code: "A"), at: 0) } + routes.flatMap { $0.events(of: Route(id: "R"), at: 0) }
        return (drafts + batchDrafts).reduce(into: [:]) { channels, draft in
            channels[draft.event, default: []].insert(kind(of: draft.channel))
        }
    }()

    private static var batchDrafts: [EventDraft] {
        let batch = BatchPlanTests.batch()
        return BatchNews.samples(BatchPlanTests.driver, order: batch.orders[0]).map { $0.draft(batch, .ready) }
    }

    private static func kind(of channel: FleetChannel) -> String {
        switch channel {
        case .driver: "driver"
        case .drivers: "drivers"
        case .admin: "admin"
        case .tracking, .booking, .customer: "customer"
        }
    }

    @Test func namesThePeopleOfEachEvent() {
        #expect(Self.channels.count > 15)
        for (event, channels) in Self.channels {
            let recipients = EventRecipients(of: event)
            #expect((recipients.person == .driver) == channels.contains("driver"), "\(event)")
            #expect((recipients.person == .customer) == channels.contains("customer"), "\(event)")
            #expect(recipients.areAllDrivers == channels.contains("drivers"), "\(event)")
        }
    }

    @Test(arguments: ["NEW_BATCH_AVAILABLE", "driver_arrival", "lunch-break"])
    func otherNamesAreAnnouncements(_ name: String) {
        #expect(EventRecipients(of: name) == EventRecipients(of: "X") && EventRecipients(of: name).person == .named)
    }
}
