import Access
import Primitives
import Testing

@testable import Fleet

/// Batches of orders in the store: what a command of a driver or an admin writes.
@Suite struct BatchCommandTests {
    private let store = TemporaryStore()
    private let executor: CommandExecutor
    /// Two approved drivers with accounts.
    private let accounts = [Account.active(1), Account.active(2)]
    private static let id = ObjectID.sample(1)
    private static let order = ObjectID.sample(11)

    init() throws {
        executor = try store.executor()
        for account in accounts { try executor.accounts.store(account) }
    }

    private func of(_ index: Int) -> Identity { driver(accounts[index].personID) }

    private func run(_ request: any Command, by actor: Identity = admin, at now: Int64 = noon) throws -> CommandReply {
        try executor.commit(command(request, by: actor), at: now)
    }

    /// A batch with two orders, the first of which has the code 1234.
    private func create(_ orders: [EditedOrder]? = nil) throws {
        var edits = BatchEdits()
        var first = EditedOrder(id: Self.order, orderNumber: "ORD-1")
        first.otp = .digits("1234")
        edits.orders = orders ?? [first, EditedOrder(id: .sample(12), orderNumber: "ORD-2")]
        #expect(try run(EditBatch(Self.id, edits)).status == 200)
    }

    /// The same batch in the hands of the first driver, who has picked it up.
    private func pickUp() throws {
        try create()
        for (request, actor) in [
            (ReadyBatch(Self.id), admin), (AcceptBatch(Self.id), of(0)), (PickUpBatch(Self.id, notes: nil), of(0)),
        ] as [(any Command, Identity)] { #expect(try run(request, by: actor).status == 200) }
    }

    private func deliver(_ digits: String, at now: Int64 = noon, by actor: Int = 0) throws -> CommandReply {
        try run(ReportDelivery(DeliveryReport(.delivered(.otp(digits))), orderID: Self.order), by: of(actor), at: now)
    }

    // MARK: Codes

    @Test func theCodeIsStoredOnlyAsItsHMAC() throws {
        try create()
        let rows = try executor.database.dump(
            "SELECT length(otp_digest), otp_key FROM batch_orders WHERE id = '\(Self.order.text)'")
        #expect(rows == ["32|k1"])
        let codes = executor.deliveryCodes
        let sealed = codes.seal("1234", of: Self.order)
        #expect(codes.matches("1234", sealed, of: Self.order))
        #expect(!codes.matches("1235", sealed, of: Self.order) && !codes.matches("1234", sealed, of: .sample(12)))
        #expect(!codes.matches("1234", .sealed(digest: [], keyID: "k1"), of: Self.order))
        let rotated = DeliveryCodes(testKeys("k2", "k1"))
        #expect(rotated.matches("1234", sealed, of: Self.order), "an older key")
        #expect(!DeliveryCodes(testKeys("k2")).matches("1234", sealed, of: Self.order), "its key is gone")
    }

    @Test func fiveWrongCodesLockTheOrderForAQuarterOfAnHour() throws {
        try pickUp()
        for _ in 1...5 { #expect(try deliver("0000").error?.summary == "Invalid OTP") }
        let locked = try deliver("1234")
        #expect(locked.error?.kind == .limited && locked.error?.retryAfterSeconds == 900)
        #expect(try deliver("1234", at: noon + 899_000).error?.retryAfterSeconds == 1)
        #expect(try deliver("1234", at: noon + 900_000).status == 200)
    }

    /// A restart and a replacement of the driver do not give more attempts.
    @Test func wrongCodesAreCountedPerOrder() throws {
        try pickUp()
        for _ in 1...3 { _ = try deliver("0000") }
        #expect(try run(ReassignBatch(Self.id, driverID: accounts[1].id.text, reason: nil)).status == 200)
        for _ in 1...2 { _ = try deliver("0000", by: 1) }
        #expect(try deliver("1234", by: 1).error?.kind == .limited)
        let failed = ReportDelivery(DeliveryReport(.failed(.customerRefused)), orderID: Self.order)
        #expect(try run(failed, by: of(1)).status == 200, "other reports go on")
    }

    /// Another batch with the same order brings no new attempts. Old ones are forgotten.
    @Test func wrongCodesFollowTheOrderIntoAnotherBatch() throws {
        try pickUp()
        for _ in 1...5 { _ = try deliver("0000") }
        #expect(try run(CancelBatch(Self.id, reason: nil)).status == 200)
        var edits = BatchEdits()
        var order = EditedOrder(id: Self.order, orderNumber: "ORD-1")
        order.otp = .digits("1234")
        edits.orders = [order]
        for (request, actor) in [
            (EditBatch(.sample(2), edits), admin), (ReadyBatch(.sample(2)), admin), (AcceptBatch(.sample(2)), of(1)),
            (PickUpBatch(.sample(2), notes: nil), of(1)),
        ] as [(any Command, Identity)] { #expect(try run(request, by: actor).status == 200) }
        #expect(try deliver("1234", by: 1).error?.kind == .limited)
        var removed: [RemovedDevice] = []
        let kept = try executor.deleteExpired(.wrongCodes, now: noon + day, lifetime: day, limit: 9, &removed)
        let deleted = try executor.deleteExpired(.wrongCodes, now: noon + day + 1, lifetime: day, limit: 9, &removed)
        #expect(kept == 0 && deleted == 1)
    }

    // MARK: Repetitions

    @Test func aRepeatedReportGetsTheStoredResponse() throws {
        try pickUp()
        let first = try deliver("1234", at: noon + 1_000)
        let other = ReportDelivery(DeliveryReport(.failed(.other), notes: "Dog"), orderID: .sample(12))
        #expect(try run(other, by: of(0)).status == 200)
        let again = try deliver("9999", at: noon + 5_000)
        #expect(again.body == first.body && again.result?.isRepetition == true)
        #expect(try executor.batches.batch(Self.id)?.status == .partialComplete)
        // Without the stored response, which an erasure has cleared, it is made anew.
        _ = try executor.batches.orders.clearReports(ofAccount: accounts[0].id, most: 9)
        #expect(try deliver("1234").body != first.body && deliver("1234").status == 200)
    }

    /// The last report has ended the batch; the driver's word comes behind it, with notes for the audit log, once.
    @Test func theDriverClosesABatchOnce() throws {
        try pickUp()
        for order in [Self.order, .sample(12)] {
            let report = DeliveryReport(.delivered(.photo(url: "https://p.example/1")))
            #expect(try run(ReportDelivery(report, orderID: order), by: of(0)).status == 200)
        }
        let closing = CompleteBatch(Self.id, notes: "Two bags left")
        let first = try run(closing, by: of(0), at: noon + 60_000)
        let second = try run(closing, by: of(0), at: noon + 70_000)
        #expect(first.result?.isRepetition == false && second.result?.isRepetition == true && first.body == second.body)
        let lines = try executor.database.dump("SELECT details FROM audit WHERE action = 'complete'")
        #expect(lines == [#"{"notes":"Two bags left"}"#])
        #expect(try executor.batches.batch(Self.id)?.closedAt == noon + 60_000)
    }

    @Test func onlyOneDriverGetsTheBatch() throws {
        try create()
        _ = try run(ReadyBatch(Self.id))
        let won = try run(AcceptBatch(Self.id), by: of(0))
        let lost = try run(AcceptBatch(Self.id), by: of(1))
        #expect(won.status == 200 && lost.error?.code == .batchTaken && lost.error?.jobStatus == "DISPATCHED")
        let again = try run(AcceptBatch(Self.id), by: of(0))
        #expect(again.body == won.body && again.result?.isRepetition == true)
    }

    @Test func driversNeedAnApprovedAccount() throws {
        try create()
        var pending = Account.sample(3)
        try executor.accounts.store(pending)
        #expect(try run(AcceptBatch(Self.id), by: driver("nobody")).error?.status == 403)
        #expect(try run(AcceptBatch(Self.id), by: driver(pending.personID)).error?.summary == "Account pending approval")
        pending.status = .suspended
        try executor.accounts.store(pending)
        let reply = try run(AcknowledgeBatch(.current), by: driver(pending.personID))
        #expect(reply.error?.summary == "Account suspended")
    }

    @Test func anOrderIsInOneOpenBatchOnly() throws {
        try create()
        var edits = BatchEdits()
        edits.orders = [EditedOrder(id: Self.order, orderNumber: "ORD-1")]
        #expect(try run(EditBatch(.sample(2), edits)).error?.status == 409)
        #expect(try run(CancelBatch(Self.id, reason: nil)).status == 200)
        #expect(try run(EditBatch(.sample(2), edits)).status == 200)
    }

    @Test func theFirstReadingIsACommand() throws {
        try create()
        _ = try run(ReadyBatch(Self.id))
        _ = try run(AcceptBatch(Self.id), by: of(0))
        let reader = BatchReader(executor.batches, executor.accounts)
        let query = BatchQuery.read(.current)
        #expect(try reader.execute(query, by: of(0)).get() == .mustWrite)
        let details = BatchQuery.read(.details(Self.id))
        #expect(try reader.execute(details, by: of(0)).get() == .mustWrite)
        #expect(try reader.execute(details, by: of(1)) == .failure(RuleError(.notAssigned)))
        #expect(try run(AcknowledgeBatch(.current), by: of(0)).status == 200)
        let batch = try #require(try executor.batches.batch(Self.id))
        #expect(try reader.execute(query, by: of(0)).get() == .batch(.read(.current(batch))))
        // Taken from the driver between the query and the command.
        #expect(try run(UnassignBatch(Self.id, reason: nil)).status == 200)
        let late = try run(AcknowledgeBatch(.current), by: of(0))
        #expect(String(decoding: late.body, as: UTF8.self).contains("No active batch"))
    }

    // MARK: Time

    /// A jump forward does not end the lock; a clock that is set back does not keep it.
    @Test func theLockFollowsTheTrustedTime() throws {
        try pickUp()
        for _ in 1...5 { _ = try deliver("0000", at: noon + day) }
        executor.clockLead = 2 * day
        #expect(try deliver("1234", at: noon + 3 * day + 60_000).error?.kind == .limited)
        executor.clockLead = 0
        #expect(try deliver("1234", at: noon).status == 200)
    }

    @Test func windowsThatHaveEndedAreDue() throws {
        for number in 1...60 {
            var edits = BatchEdits()
            edits.windowEndTime = .set(noon + 1_000)
            if number > 1 { edits.orders = [EditedOrder(id: .sample(number + 100), orderNumber: "O")] }
            #expect(try run(EditBatch(.sample(number), edits)).status == 200)
        }
        var due = DueCommands(keepsAccounts: true, openDays: 30)
        #expect(due.isDue(at: 0))
        #expect(try due.next(executor, now: noon + 999, monotonic: 0).isEmpty)
        #expect(!due.isDue(at: 999) && due.isDue(at: 1_000) && due.wait(at: 400) == 600)
        var opened: [IssuedCommand] = []
        while opened.count < 60 {
            let some = try due.next(executor, now: noon + 1_000, monotonic: 1_000)
            try #require(!some.isEmpty)
            if opened.isEmpty { #expect(due.wait(at: 1_000) == 0, "more are due") }
            for command in some { #expect(try executor.commit(command, at: noon + 1_000).status == 200) }
            opened += some
        }
        #expect(try executor.batches.batch(.sample(1))?.status == .cancelled, "it has no order")
        #expect(try executor.batches.waiting(most: 100).count == 59)
        #expect(try executor.batches.due(at: .max, most: 1).isEmpty)
    }

    /// Each look is one transaction, and dispatchers wait for it.
    @Test func aLookStopsAtItsRows() throws {
        for number in 1...9 {
            var edits = BatchEdits()
            edits.windowEndTime = .set(noon + 1_000)
            #expect(try run(EditBatch(.sample(number), edits)).status == 200)
        }
        _ = try executor.commit(assign("A", to: "42"), at: noon - 40 * day)
        let rowsMax = 4 * IssuedCommand(ofGateway: OpenBatch(.sample(1))).rows
        var due = DueCommands(keepsAccounts: true, openDays: 30, rowsMax: rowsMax)
        var looks: [Int] = []
        while due.isDue(at: 1_000) {
            let some = try due.next(executor, now: noon + 1_000, monotonic: 1_000)
            #expect(some.reduce(0) { $0 + $1.rows } <= rowsMax)
            for command in some { #expect(try executor.commit(command, at: noon + 1_000).status == 200) }
            looks.append(some.count)
        }
        // Two of four places are for batches; the idle order finds room in the first look.
        #expect(looks == [3, 2, 2, 2, 1])
        #expect(try executor.batches.due(at: .max, most: 1).isEmpty)
    }

    /// A command that was due comes too late for a batch that an admin has opened.
    @Test func aLateCommandChangesNothing() throws {
        try create()
        _ = try run(ReadyBatch(Self.id))
        let before = try executor.dump("batches")
        #expect(try run(OpenBatch(Self.id)).result?.isRepetition == true)
        #expect(try executor.dump("batches") == before)
    }
}

extension Account {
    /// An approved account.
    static func active(_ number: Int) -> Account {
        var account = Account.sample(number)
        account.status = .active
        return account
    }
}
