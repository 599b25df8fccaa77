import Fleet
import Testing

@Suite struct DriverCardTests {
    private static func changes(_ change: (inout DriverCardChanges) -> Void) -> DriverCardChanges {
        var changes = DriverCardChanges()
        change(&changes)
        return changes
    }

    private static let stored: DriverCard = {
        var card = DriverCard(id: "42")
        (card.name, card.phoneNumber, card.vehicleMake) = ("Dan", "+41 79", "VW")
        (card.vehicleModel, card.vehicleColor, card.licensePlate, card.version) = ("ID.3", "red", "ZH 1", 5)
        return card
    }()

    private func plan(
        _ changes: DriverCardChanges, for stored: DriverCard?, expectedVersion: Int? = nil
    ) throws(RuleError) -> DispatchPlan {
        try RulesFixture.planner().plan(
            changes, ofDriver: "42", for: stored, RulesFixture.context(expectedVersion: expectedVersion))
    }

    @Test func createsACard() throws {
        let plan = try plan(Self.changes { $0.name = .set("Dan") }, for: nil)
        #expect(
            plan.responseText == #"{"success":true,"message":"Driver updated","data":{"driver":{"id":"42","name":"Dan","#
                + #""phoneNumber":null,"vehicleMake":null,"vehicleModel":null,"vehicleColor":null,"licensePlate":null,"#
                + #""version":1}},"correlationId":"c-1"}"#)
        #expect(plan.driver?.version == 1 && plan.driver?.name == "Dan")
        #expect(plan.notifications.isEmpty && plan.pushes.isEmpty && plan.order == nil && plan.route == nil)
        let audit = try #require(plan.audit)
        #expect(audit.action == "driver_update" && audit.subject == .fleet && audit.actor == "admin:1")
        #expect(audit.detailsText == #"{"person":"driver:42","fields":["name"]}"#)
    }

    @Test func aRequestWithoutFieldsCreatesAnEmptyCard() throws {
        let plan = try plan(DriverCardChanges(), for: nil)
        #expect(plan.driver?.version == 1 && plan.audit?.detailsText == #"{"person":"driver:42"}"#)
    }

    @Test func setsClearsAndKeeps() throws {
        let changes = Self.changes {
            ($0.phoneNumber, $0.vehicleColor, $0.licensePlate) = (.clear, .set("blue"), .set("BE 2"))
        }
        let card = try #require(try plan(changes, for: Self.stored).driver)
        var expected = Self.stored
        (expected.phoneNumber, expected.vehicleColor, expected.licensePlate, expected.version) = (nil, "blue", "BE 2", 6)
        #expect(card == expected)
    }

    @Test func everyFieldIsNamedInTheAudit() throws {
        let plan = try plan(
            Self.changes {
                ($0.name, $0.phoneNumber, $0.vehicleMake) = (.clear, .clear, .clear)
                ($0.vehicleModel, $0.vehicleColor, $0.licensePlate) = (.clear, .clear, .clear)
            }, for: Self.stored)
        #expect(
            plan.audit?.detailsText == #"{"person":"driver:42","fields":["name","phoneNumber","vehicleMake","#
                + #""vehicleModel","vehicleColor","licensePlate"]}"#)
        #expect(plan.driver?.identifyingTexts == [] && Self.stored.identifyingTexts == ["Dan", "+41 79", "ZH 1"])
    }

    @Test func equalFieldsChangeNothing() throws {
        let plan = try plan(Self.changes { $0.name = .set("Dan") }, for: Self.stored)
        #expect(plan.driver == nil && plan.audit == nil && plan.response == .driver(Self.stored))
    }

    /// The stored name has an é, the new one an e with a combining accent. Swift's `==` considers these names equal.
    @Test func storesACanonicallyEqualNameWithOtherBytes() throws {
        var card = Self.stored
        card.name = "Ren\u{E9}"
        let plan = try plan(Self.changes { $0.name = .set("Rene\u{301}") }, for: card)
        #expect(plan.driver?.name?.unicodeScalars.count == 5)
    }

    @Test func versionConflictNamesBothVersions() throws {
        for (stored, version) in [(Self.stored, 5), (nil, 0)] {
            let error = ruleError { () throws(RuleError) in
                try plan(DriverCardChanges(), for: stored, expectedVersion: 4)
            }
            #expect(error == RuleError(.wrongVersion, "Driver 42", "\(version)", "4"))
            _ = try plan(DriverCardChanges(), for: stored, expectedVersion: version)
        }
    }
}
