import Fleet
import Primitives
import Testing

@Suite struct AccountDecisionsTests {
    private static let now = AccountFixture.now

    private func register(over stored: Account?, isTaken: Bool = false) throws(RuleError) -> Account {
        var random: any RandomNumberGenerator = SystemRandomNumberGenerator()
        var form = AccountFixture.form
        form.name = .value("New Name")
        return try Account.registering(
            AccountFixture.caller, phone: "1", try AccountFixture.read(form), over: stored, isTaken: isTaken,
            now: Self.now + 7, using: &random)
    }

    @Test func aFirstRegistrationWaitsForApproval() throws {
        let account = try register(over: nil)
        #expect(account.status == .pending && account.uid == "uid-1" && account.personID == "42" && account.phone == "1")
        #expect(account.version == 1 && account.createdAt == Self.now + 7 && account.updatedAt == Self.now + 7)
        #expect(try register(over: nil).id != account.id)
    }

    @Test func aRejectedDriverRegistersAnew() throws {
        let stored = try AccountFixture.account(.rejected, reason: "blurred")
        let account = try register(over: stored)
        #expect(account.id == stored.id && account.createdAt == stored.createdAt && account.version == 2)
        #expect(account.status == .pending && account.reason == nil && account.registration.name == "New Name")
        #expect(account.phone == "1")
    }

    @Test(arguments: [(nil, true), (.pending, false), (.active, false), (.rejected, true)] as [(AccountStatus?, Bool)])
    func refusesASecondRegistration(status: AccountStatus?, isTaken: Bool) throws {
        let stored = try status.map { try AccountFixture.account($0) }
        #expect(throws: RuleError(.accountExists)) { try register(over: stored, isTaken: isTaken) }
    }

    @Test func aSuspendedDriverCannotRegister() throws {
        let stored = try AccountFixture.account(.suspended, reason: "late")
        #expect(throws: RuleError(.suspendedAccount, "late")) { try register(over: stored) }
    }

    @Test func storesALoginOnceAMinute() throws {
        var account = try AccountFixture.account(.active)
        account = try #require(account.loggingIn(now: Self.now))
        #expect(account.lastLoginAt == Self.now && account.version == 1)
        #expect(account.loggingIn(now: Self.now + 59_999) == nil)
        #expect(account.loggingIn(now: Self.now + 60_000)?.lastLoginAt == Self.now + 60_000)
        #expect(account.loggingIn(now: Self.now - 1)?.lastLoginAt == Self.now - 1, "the clock was set back")
        for status in [AccountStatus.pending, .rejected, .suspended] {
            #expect(try AccountFixture.account(status).loggingIn(now: Self.now) == nil)
        }
    }

    @Test func changesTheProfile() throws {
        let account = try AccountFixture.account(.active)
        #expect(try account.applying(ProfileForm(), now: Self.now + 1) == nil)
        var form = ProfileForm()
        (form.name, form.email, form.profileImage) = (.value(" Dan "), .null, .value("https://a.b/c"))
        let changed = try #require(try account.applying(form, now: Self.now + 1))
        #expect(changed.registration.name == "Dan" && changed.registration.email == nil && changed.version == 2)
        #expect(changed.registration.profileImage == "https://a.b/c" && changed.updatedAt == Self.now + 1)
        #expect(changed.registration.vehicleNumber == account.registration.vehicleNumber)
    }

    @Test func refusesWhatOnlyARegistrationMaySet() throws {
        let account = try AccountFixture.account(.active)
        var form = ProfileForm()
        form.name = .null
        form.email = .value("x")
        form.fixedFields = ["vehicleType"]
        let expected = RuleError(fields: [
            .init("name", "Name is required"), .init("email", "Invalid email format"),
            .init("vehicleType", "This field cannot be changed here"),
        ])
        #expect(throws: expected) { try account.applying(form, now: Self.now) }
    }
}
