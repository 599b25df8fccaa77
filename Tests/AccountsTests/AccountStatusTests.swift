import Fleet
import Primitives
import Testing

@Suite struct AccountStatusTests {
    /// By action: the state after it, `=` if the account already has it, `409` if it is not allowed.
    private static let table: [AccountStatus: [String: String]] = [
        .pending: ["approve": "ACTIVE", "reject": "REJECTED", "suspend": "409", "reinstate": "409"],
        .active: ["approve": "=", "reject": "409", "suspend": "SUSPENDED", "reinstate": "="],
        .rejected: ["approve": "ACTIVE", "reject": "=", "suspend": "409", "reinstate": "409"],
        .suspended: ["approve": "409", "reject": "409", "suspend": "=", "reinstate": "ACTIVE"],
    ]

    @Test(arguments: AccountStatus.allCases, [AccountAction.approve, .reject(reason: "r"), .suspend(reason: nil), .reinstate])
    func everyActionInEveryState(status: AccountStatus, action: AccountAction) throws {
        let account = try AccountFixture.account(status, reason: "first")
        var found: String
        do throws(RuleError) {
            let changed = try account.applying(action, now: AccountFixture.now + 5)
            found = changed?.status.rawValue ?? "="
            if let changed {
                #expect(changed.version == 2 && changed.updatedAt == AccountFixture.now + 5)
                #expect(changed.reason == (action == .reject(reason: "r") ? "r" : nil))
            }
        } catch {
            #expect(error.kind == .conflict && error.text.contains(status.rawValue))
            found = "409"
        }
        #expect(found == Self.table[status]?[action.name])
        #expect(action.message(isRepetition: true).contains("already"))
        #expect(!action.message(isRepetition: false).contains("already"))
    }

    @Test func aSuspendedAccountStaysApproved() {
        #expect(AccountStatus.allCases.map(\.approval) == ["PENDING", "APPROVED", "REJECTED", "APPROVED"])
    }

    /// The rows of the contract: no account, pending, rejected, suspended, active.
    @Test(arguments: AccountNeed.allCases) func theGate(need: AccountNeed) throws {
        let expected: [AccountNeed: [Int]] = [
            .approved: [403, 403, 403, 403, 200], .any: [403, 200, 200, 403, 200], .own: [404, 200, 200, 403, 200],
            .anyOrNone: [200, 200, 200, 403, 200], .removal: [403, 200, 200, 200, 200],
        ]
        let entries: [AccountEntry?] = try [
            nil, AccountFixture.account(.pending).entry, AccountFixture.account(.rejected, reason: "blurred").entry,
            AccountFixture.account(.suspended, reason: "late").entry, AccountFixture.account(.active).entry,
        ]
        #expect(entries.map { AccountGate.refusal(need, $0)?.status ?? 200 } == expected[need])
    }

    @Test func theGateSaysWhy() throws {
        func texts(_ status: AccountStatus?, reason: String? = nil) throws -> [String?] {
            let entry = try status.map { try AccountFixture.account($0, reason: reason).entry }
            let error = AccountGate.refusal(.approved, entry)
            return [error?.summary, error?.text]
        }
        #expect(try texts(nil) == ["Driver account not found", "Driver account not found"])
        #expect(try texts(.pending) == ["Account pending approval", "Your registration is pending admin approval"])
        #expect(try texts(.rejected, reason: "blurred") == ["Registration rejected", "blurred"])
        #expect(try texts(.suspended, reason: "late") == ["Account suspended", "late"])
        #expect(
            try texts(.suspended) == [
                "Account suspended", "Your account has been suspended. Please contact support.",
            ])
    }
}
