import Fleet
import Primitives
import Testing

@Suite struct AccountPlanTests {
    private static let registration = Registration(
        name: "Rahul", email: nil, profileImage: nil, licenseNumber: "L-1", licenseImageURL: "https://i.example/l",
        licenseExpiryDate: nil, vehicleName: "Activa", vehicleNumber: "MH12AB1234", vehicleType: .scooter,
        vehicleDocuments: [])
    private static let id = ObjectID("0123456789abcdef01234567")

    /// Decisions are pushed, as in the built-in catalogue.
    private static let rules: NotificationRules = {
        let rule = NotificationRules.Rule(lifetimeSeconds: 3_600, collapsesByJob: false, push: [.personal])
        return NotificationRules(rules: ["driver-approved": rule, "driver-rejected": rule])
    }()

    private func account(_ status: AccountStatus) throws -> Account {
        var account = Account(
            id: try #require(Self.id), uid: "U", personID: "42", phone: "9179", Self.registration,
            createdAt: RulesFixture.context().now)
        account.status = status
        return account
    }

    private func decide(
        _ action: AccountAction, _ status: AccountStatus, version: Int? = nil
    ) throws -> Result<DispatchPlan, RuleError> {
        var planner = RulesFixture.planner()
        let account = try account(status)
        let context = RulesFixture.context(expectedVersion: version, rules: Self.rules)
        do throws(RuleError) {
            return .success(try planner.decide(action, about: account, openJobs: 3, context))
        } catch { return .failure(error) }
    }

    @Test func aRegistrationTellsDispatchers() throws {
        var planner = RulesFixture.planner()
        let new = try account(.pending)
        let plan = try planner.register(new, over: nil, RulesFixture.context())
        #expect(plan.published == ["admin-channel driver-registered"])
        let time = Timestamp.iso8601(milliseconds: new.createdAt)
        #expect(
            plan.notifications[0].text.contains(
                #""driverId":"42","name":"Rahul","phone":"9179","vehicleNumber":"MH12AB1234","createdAt":"\#(time)""#))
        #expect(plan.account == new && plan.pushes.isEmpty && plan.response == .account(.registered(new)))
        let audit = try #require(plan.audit)
        #expect(audit.action == "register" && audit.subject == .account(new.id.text) && audit.before == nil)
        #expect(audit.after == AuditEntry.State(status: "PENDING", driverID: "42"))
        #expect(audit.details == nil, "the audit log gets no personal data")
    }

    @Test func anApprovalIsPublishedAndPushedToTheDriver() throws {
        let plan = try decide(.approve, .pending).get()
        #expect(plan.published == ["driver-42 driver-approved"])
        #expect(plan.pushes.map(\.audience) == [.driver("42")] && plan.pushes[0].notificationID == plan.notifications[0].id)
        #expect(plan.account?.status == .active && plan.account?.version == 2)
        #expect(plan.audit?.before?.status == "PENDING" && plan.audit?.after?.status == "ACTIVE")
    }

    @Test func aRejectionAndASuspensionHaveTheirReasons() throws {
        let rejection = try decide(.reject(reason: "Blurred"), .pending).get()
        #expect(rejection.published == ["driver-42 driver-rejected"])
        #expect(rejection.notifications[0].text.contains(#""driverId":"42","reason":"Blurred""#))
        #expect(rejection.audit?.reason == "Blurred" && rejection.account?.reason == "Blurred")
        let suspension = try decide(.suspend(reason: nil), .active).get()
        #expect(suspension.published == ["admin-channel driver-suspended"] && suspension.pushes.isEmpty)
        #expect(suspension.notifications[0].text.contains(#""driverId":"42","reason":null,"openJobs":3"#))
        let reinstatement = try decide(.reinstate, .suspended).get()
        #expect(reinstatement.published.isEmpty && reinstatement.account?.status == .active)
    }

    @Test func aRepetitionChangesNothing() throws {
        let plan = try decide(.approve, .active).get()
        #expect(plan.account == nil && plan.audit == nil && plan.notifications.isEmpty)
        #expect(plan.response == .account(.decided("Driver is already approved", try account(.active), notificationIDs: [])))
    }

    @Test func wrongStatesAndVersionsAreConflicts() throws {
        for result in [try decide(.suspend(reason: nil), .pending), try decide(.approve, .pending, version: 9)] {
            guard case .failure(let error) = result else {
                Issue.record("not refused")
                continue
            }
            #expect(error.kind == .conflict)
        }
    }
}
