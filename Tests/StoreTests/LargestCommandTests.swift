import Access
import Primitives
import Testing
import Threads

@testable import Fleet

/// Every command at the largest size that the API permits, for people with as many devices as a person may have: none writes
/// more rows than it declares. The transactions themselves check it, on a file and on a server.
@Suite struct LargestCommandTests {
    private let store = TemporaryStore()
    private let executor: CommandExecutor
    private let accounts = [Account.active(1), Account.active(2)]
    private let customers = (0..<6).map { customer("\($0)", bookings: ["A", "B"]) }
    private let signed = Lock<CustomerTokenClaims?>(nil)
    /// The names of the commands that were executed.
    private let seen = Lock<Set<String>>([])

    init() throws {
        let signed = signed
        executor = try store.executor {
            $0.lanes = [.fcm]
            $0.rules = NotificationRules(.builtIn, mode: .fallback, eventBytesMax: 10_240)
            $0.codes.sign = { claims in
                signed.withLock { $0 = claims }
                return "token"
            }
        }
        for account in accounts { try executor.accounts.store(account) }
        for person in [of(0), of(1)] + customers {
            for number in 0..<DeviceRegistration.devicesMax {
                _ = try executor.commit(register(fcm("\(person.key)-\(number)"), by: person))
            }
        }
        executor.backgroundTasks = []
    }

    private func of(_ index: Int) -> Identity { driver(accounts[index].personID) }

    @discardableResult
    private func run(
        _ action: any Command, by actor: Identity? = admin, key: String? = nil, at now: Int64 = noon, status: Int = 200
    ) throws -> CommandReply {
        let command = command(action, by: actor, key: key)
        let reply = try executor.commit(command, at: now)
        #expect(reply.status == status, "\(action.name): \(reply.text)")
        // Beside the command: what is written for the transaction.
        #expect(executor.rowCounts.last <= command.rows + CommandExecutor.aroundRequests, "\(action.name)")
        #expect(executor.declaredRows >= command.rows, "it is checked")
        _ = seen.withLock { $0.insert(action.name) }
        return reply
    }

    private func expectAll(_ names: String...) {
        let missing = Set(names).subtracting(seen.withLock { $0 })
        #expect(missing.isEmpty)
    }

    @Test func ordersAndRoutes() throws {
        func act(_ kind: OrderAction.Kind, _ code: String = "A") throws {
            try run(OrderAction(code: code, kind), key: "\(kind)\(code)")
        }
        func assign(_ index: Int) -> OrderAction.Kind { .assign(.init(id: Identifier(accounts[index].personID))) }
        try act(.update)
        try act(assign(0))
        try act(assign(1))
        try act(.unassign)
        try act(assign(0), "B")
        try act(.removeDriver, "B")
        try act(assign(0), "C")
        try act(.cancel, "C")
        try run(AcceptJob("A"), by: of(0), key: "accept")
        try run(ReportProgress("A", ProgressReport(step: .enRoute)), by: of(0), key: "enRoute", at: noon + 1)
        let order = try #require(try executor.orders.order(code: "A"))
        func step(_ kind: TripStep.Kind, at now: Int64) throws {
            let step = TripStep(orderCode: "A", driverID: of(0).id, startedAt: try #require(order.trip.startedAt), kind)
            try run(step, by: of(0), at: now)
        }
        let place = Position(latitude: 51.5, longitude: -0.1, recordedAt: noon)
        try step(.tellNearby(etaMinutes: 3), at: noon + 600_000)
        try step(.arrive(at: place), at: noon + 700_000)
        try step(.tellWaiting, at: noon + 1_700_000)
        if try executor.orders.order(code: "A")?.assignment.status == .enRoute {
            try run(ReportProgress("A", ProgressReport(step: .arrived)), by: of(0), key: "arrived", at: noon + 750_000)
        }
        try run(CorrectArrival("A", reason: "r"), key: "correct", at: noon + 760_000)
        try run(ReportProgress("A", ProgressReport(step: .arrived)), by: of(0), key: "again", at: noon + 770_000)
        for status in [JobStatus.loading, .inTransit, .unloading, .completed] {
            try run(ReportProgress("A", ProgressReport(step: status)), by: of(0), key: status.rawValue, at: noon + 1_800_000)
            if status == .inTransit { try step(.tellDestinationNear(from: place, etaMinutes: 2), at: noon + 1_900_000) }
        }
        func route(_ kind: RouteAction.Kind, _ key: String) throws { try run(RouteAction(id: "R", kind), key: key) }
        try route(.assign(.init(id: Identifier(of(0).id))), "1")
        try route(.assign(.init(id: Identifier(of(1).id))), "2")
        try route(.removeDrop("D"), "3")
        try route(.unassign, "4")
        try run(AcceptRoute("R"), by: of(1), key: "5")
        try route(.update, "6")
        try route(.cancel, "7")
        expectAll(
            "assign", "unassign", "remove_driver", "cancel", "update", "accept", "progress", "correct", "trip_moment",
            "route_assign",
            "route_unassign", "route_cancel", "remove_drop", "route_update", "route_accept")
    }

    /// A thousand drivers, the most that an announcement names, each with a device.
    @Test func announcements() throws {
        let ids = (0..<1_000).map { "d\($0)" }
        for id in ids { _ = try executor.commit(register(fcm(id), by: driver(id))) }
        func announce(_ audience: Announcement.Audience) throws -> CommandReply {
            try run(Announce(Announcement(type: "NEW_BATCH_AVAILABLE", audience: audience, data: Array("{}".utf8))))
        }
        #expect(try announce(.drivers(ids)).notifications.count == 1_000)
        _ = try announce(.drivers([of(0).id, of(1).id] + ids.prefix(CommandExecutor.pushesMax - 2)))
        _ = try announce(.customer("0"))
        let id = try announce(.everyDriver).notifications[0].id
        // With these, the checks of the tasks' slices: jobs, jobs of named drivers, read marks.
        try executor.runBackgroundTasks()
        try run(Remind(notificationID: id))
        try executor.runBackgroundTasks()
        expectAll("announce", "remind")
    }

    @Test func inboxesAndSettings() throws {
        let person = of(0)
        let ids = try (0..<1_000).map { _ in try executor.commit(StoreTests.announce(to: person.id)).notifications[0].id }
        let events = ids.prefix(100).map {
            TelemetryEvent(
                notificationID: $0, type: "new_job", entityID: "A", kind: .viewed, timestamp: "2026-11-21T11:59:59Z",
                metadata: nil)
        }
        try run(RecordTelemetry(Array(events)), by: person)
        try run(MarkRead(ids), by: person, key: "ids")
        for _ in 0..<600 { _ = try executor.commit(StoreTests.announce(to: person.id)) }
        try run(MarkRead(nil), by: person, key: "all")
        try executor.runBackgroundTasks()
        var preferences = PreferenceChanges()
        preferences.types = ["HELLO": false]
        try run(UpdatePreferences(preferences), by: person)
        var card = DriverCardChanges()
        card.name = .set("Ann")
        try run(ChangeDriverCard(driverID: person.id, card), key: "card")
        for number in 0..<3 {
            let registration = DeviceRegistration(.register, fcm("new-\(number)"), deviceID: "phone", form: .fcmToken)
            try run(registration, by: customers[0])
        }
        try run(DeviceRegistration(.unregister, fcm("new-2"), form: .fcmToken), by: customers[0])
        try run(SwitchAvailability(isOnline: true), by: person)
        try run(EndAvailability(accountID: accounts[0].id))
        expectAll(
            "telemetry", "read", "preferences", "driver_update", "device_register", "device_unregister", "availability")
    }

    @Test func batches() throws {
        let id = ObjectID.sample(1)
        var edits = BatchEdits()
        edits.orders = (0..<BatchEdits.ordersMax).map { EditedOrder(id: .sample(1_000 + $0), orderNumber: "O\($0)") }
        try run(EditBatch(id, edits), key: "edit")
        // Other orders take the places of all.
        edits.orders = (0..<BatchEdits.ordersMax).map { EditedOrder(id: .sample(2_000 + $0), orderNumber: "P\($0)") }
        try run(EditBatch(id, edits), key: "edit all")
        try run(ReadyBatch(id), key: "ready")
        try run(OpenBatch(id))
        try run(AcceptBatch(id), by: of(0), key: "accept")
        try run(ReassignBatch(id, driverID: accounts[1].id.text, reason: nil), key: "reassign")
        try run(UnassignBatch(id, reason: nil), key: "unassign")
        try run(AcceptBatch(id), by: of(0), key: "accept again")
        try run(AcknowledgeBatch(.current), by: of(0))
        try run(PickUpBatch(id, notes: nil), by: of(0), key: "pickup")
        let sequence = (0..<BatchEdits.ordersMax).map {
            SequenceEntry(orderID: .sample(2_000 + $0), sequenceNumber: BatchEdits.ordersMax - $0)
        }
        try run(ArrangeBatch(id, sequence), by: of(0), key: "arrange")
        try run(CancelBatchOrder(.sample(2_000), inBatch: id, by: .admin, reason: nil), key: "cancel order")
        let failed = DeliveryReport(.failed(.customerRefused), notes: "No")
        try run(ReportDelivery(failed, orderID: .sample(2_001)), by: of(0), key: "report")
        try run(ReturnBatchOrder(.sample(2_001), inBatch: id), key: "return")
        let delivered = DeliveryReport(.delivered(.photo(url: "https://p.example/1")))
        for number in 2_002..<(2_000 + BatchEdits.ordersMax) {
            try run(ReportDelivery(delivered, orderID: .sample(number)), by: of(0))
        }
        try run(CompleteBatch(id, notes: "Done"), by: of(0), key: "complete")
        var second = BatchEdits()
        second.orders = [EditedOrder(id: .sample(9_000), orderNumber: "Q")]
        try run(EditBatch(.sample(2), second))
        try run(CancelBatch(.sample(2), reason: nil), key: "cancel")
        expectAll(
            "update", "ready", "reassign", "unassign", "cancel", "cancel_order", "return_order", "open", "accept", "pickup",
            "status", "sequence", "complete", "acknowledge")
    }

    @Test func accountsAndSignIns() throws {
        let account = Account.sample(3)
        try executor.accounts.store(account)
        for number in 0..<DeviceRegistration.devicesMax {
            _ = try executor.commit(register(fcm("three-\(number)"), by: driver(account.personID)))
        }
        for action in [AccountAction.approve, .suspend(reason: "Late")] {
            try run(DecideAccount(action, driverID: account.id.text))
        }
        var form = LoginForm()
        (form.callingCode, form.country) = (.value("+1"), .value("us"))
        (form.phone, form.userType) = (.value("1234567890"), .value("customer"))
        let nobody: Identity? = nil
        let message = try #require(try run(SendSignInCode(form.number(countries: [])), by: nobody).message)
        try run(RecordSignInSMS(message.result(isSent: true)), by: nobody)
        let again = try #require(try run(ResendSignInCode(sessionID: message.sessionID), by: nobody, at: noon + 61_000).message)
        try run(RecordSignInSMS(again.result(isSent: true)), by: nobody, at: noon + 61_000)
        try run(VerifySignInCode(sessionID: again.sessionID, code: again.code), by: nobody, at: noon + 62_000)
        let claims = try #require(signed.withLock { $0 })
        let session = try #require(TokenSession(jti: claims.id, expiresAt: claims.issuedAt + 3_600))
        var customer = claims.identity
        customer.session = session
        let now = noon + 63_000
        try run(SaveBasicDetails(BasicDetails(name: .value("Ann"), email: .value("a@b.example"))), by: customer, at: now)
        let payment = PaymentMethod(token: "tok_1", brand: "visa", last4: "4242", expiryMonth: 1, expiryYear: 2030)
        try run(SavePaymentMethod(payment), by: customer, at: now)
        try run(RefreshToken(session), by: customer, at: now)
        try run(Erase(.driver, id: of(0).id), key: "driver")
        try run(Erase(.customer, id: "0"), key: "customer")
        try run(Erase(.customer, id: customer.id))
        try executor.runBackgroundTasks()
        expectAll(
            "approve", "suspend", "code_login", "code_delivered", "code_resend", "code_verify", "basic_details", "payment_method",
            "token_refresh", "erase")
    }

    /// Six customers of a booking have 120 devices: each gets its pushes on some of them, and that is counted.
    @Test func customersOfABookingShareItsPushes() throws {
        _ = executor.counter.drain()
        try run(OrderAction(code: "A", .assign(.init(id: Identifier(of(0).id)))))
        try run(OrderAction(code: "A", .removeDriver))
        #expect(executor.counter.drain().crowdedBookings == 1)
        let recipients = try executor.database.dump(
            "SELECT recipient, COUNT(*) FROM push_jobs WHERE recipient LIKE 'customer:%' GROUP BY 1 ORDER BY 1")
        #expect(recipients == (0..<6).map { "customer:\($0)|\(PushOutbox.bookingDevicesMax / 6)" })
    }

    /// The check is no empty promise: a debug build stops when a transaction has written more than it declares.
    @Test func aTransactionThatWritesMoreThanItDeclaresStopsADebugBuild() async {
        await #expect(processExitsWith: .failure) {
            let executor = try TemporaryStore().executor()
            try executor.transaction(declaring: 1) { () throws(DatabaseError) in
                for number in 0..<(2 + CommandExecutor.aroundRequests) {
                    try executor.orders.store(Order(code: "\(number)"), now: noon)
                }
            }
        }
    }
}
