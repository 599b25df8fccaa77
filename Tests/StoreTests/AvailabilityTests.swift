import Access
import Primitives
import Testing
import Threads

@testable import Fleet

/// Drivers' switches, and to whom new batches are pushed.
@Suite struct AvailabilityTests {
    private let store = TemporaryStore()
    private let executor: CommandExecutor
    private let accounts = (1...4).map { Account.active($0) }
    /// Drivers who have a connection.
    private let connected = Lock<Set<String>>([])
    private let requests = Lock<[String: Int64]>([:])

    init() throws {
        let (connected, requests) = (connected, requests)
        executor = try store.executor {
            $0.lanes = [.fcm]
            $0.rules = NotificationRules(.builtIn, mode: .mirror, eventBytesMax: 10_240)
            $0.isConnected = { id in connected.withLock { $0.contains(id) } }
            $0.lastRequest = { id in requests.withLock { $0[id] } }
        }
        for account in accounts { try executor.accounts.store(account) }
        try executor.runBackgroundTasks()
    }

    private func of(_ index: Int) -> Identity { driver(accounts[index].personID) }

    private func turn(_ isOnline: Bool, _ index: Int = 0, at now: Int64 = noon) throws -> CommandReply {
        try executor.commit(command(SwitchAvailability(isOnline: isOnline), by: of(index)), at: now)
    }

    private func isOnline(_ index: Int = 0) throws -> Bool? {
        try executor.outbox.availability.availability(of: accounts[index])?.isOnline
    }

    /// The values of `online` in the events to dispatchers.
    private func events() throws -> [Bool] {
        try executor.database.notificationData(where: "event = 'driver-availability'")
            .map { $0.contains(#""online":true"#) }
    }

    @Test func dispatchersHearOfChangesOnly() throws {
        #expect(try isOnline() == nil)
        #expect(try turn(true).status == 200)
        #expect(try turn(true, at: noon + 1).status == 200)
        #expect(try turn(false, at: noon + 2).status == 200)
        #expect(try events() == [true, false])
        #expect(try executor.database.dump("SELECT online, since FROM driver_availability") == ["0|\(noon + 2)"])
    }

    @Test func theLastDeviceTakesTheSwitchAlong() throws {
        for token in ["a", "b"] { _ = try executor.commit(register(fcm(token), by: of(0))) }
        _ = try turn(true)
        _ = try executor.commit(unregister(fcm("a"), by: of(0)))
        #expect(try isOnline() == true)
        let reply = try executor.commit(unregister(fcm("b"), by: of(0)))
        #expect(try isOnline() == false && events() == [true, false])
        #expect(reply.result?.removed.count == 1 && reply.result?.notifications.map(\.event) == ["driver-availability"])
        #expect(String(decoding: reply.body, as: UTF8.self).contains("FCM token removed"))
        _ = try turn(true)
        _ = try executor.commit(unregister(fcm("unknown"), by: of(0)))
        #expect(try isOnline() == true, "nothing was removed")
    }

    @Test func driversWhoNeverUsedTheSwitchStayAsTheyAre() throws {
        _ = try executor.commit(register(fcm("a"), by: of(0)))
        _ = try executor.commit(unregister(fcm("a"), by: of(0)))
        _ = try executor.commit(command(DecideAccount(.suspend(reason: nil), driverID: accounts[0].personID)))
        #expect(try isOnline() == nil && events().isEmpty)
    }

    @Test func aSuspensionTurnsTheSwitchOff() throws {
        _ = try turn(true)
        let reply = try executor.commit(
            command(DecideAccount(.suspend(reason: "Complaints"), driverID: accounts[0].personID)))
        #expect(reply.result?.notifications.map(\.event) == ["driver-suspended", "driver-availability"])
        #expect(try isOnline() == false)
    }

    // MARK: Absence

    private static let halfDay: Int64 = 12 * 3_600_000

    /// Runs one round, and what it makes due.
    private func look(at now: Int64, lead: Int64 = 0) throws {
        executor.clockLead = lead
        var due = DueCommands(keepsAccounts: true, openDays: 30)
        for command in try due.next(executor, now: now, monotonic: 1) { _ = try executor.commit(command, at: now) }
    }

    @Test func driversWhoAreAwayForTwelveHoursGoOffline() throws {
        for index in 0..<4 { _ = try turn(true, index) }
        connected.withLock { $0 = [accounts[1].personID] }
        requests.withLock { $0 = [accounts[2].personID: noon + 60_000] }
        try look(at: noon + Self.halfDay - 1)
        #expect(try (0..<4).map { try isOnline($0) } == [true, true, true, true])
        try look(at: noon + Self.halfDay)
        #expect(try (0..<4).map { try isOnline($0) } == [false, true, true, false])
        // The connection ends; it counts as seen until the last round that saw it.
        connected.withLock { $0 = [] }
        try look(at: noon + Self.halfDay + 60_000)
        #expect(try (0..<4).map { try isOnline($0) } == [false, true, false, false])
        try look(at: noon + 2 * Self.halfDay)
        #expect(try isOnline(1) == false)
    }

    /// The round goes on in the next look.
    @Test func aLookStopsAtItsRows() throws {
        for index in 0..<4 { _ = try turn(true, index) }
        let rowsMax = 2 * EndAvailability.rowsMax + 1
        var due = DueCommands(keepsAccounts: true, openDays: 30, rowsMax: rowsMax)
        for look in 0..<2 {
            let some = try due.next(executor, now: noon + Self.halfDay, monotonic: Int64(look) * 1_000)
            #expect(some.count == 2)
            for command in some { _ = try executor.commit(command, at: noon + Self.halfDay) }
        }
        #expect(try (0..<4).map { try isOnline($0) } == [false, false, false, false])
    }

    /// What the memory knew is stored in each round, so a restart does not make the driver look absent.
    @Test func theTimeOfTheLastRequestSurvivesARestart() throws {
        _ = try turn(true)
        requests.withLock { $0 = [accounts[0].personID: noon + 3_600_000] }
        try look(at: noon + 3_600_001)
        requests.withLock { $0 = [:] }
        try look(at: noon + Self.halfDay + 3_599_999)
        #expect(try isOnline() == true)
        try look(at: noon + Self.halfDay + 3_600_000)
        #expect(try isOnline() == false)
    }

    @Test func anOrderlyStopStoresTheLastRequests() throws {
        for index in 0..<2 { _ = try turn(true, index) }
        requests.withLock { $0 = [accounts[0].personID: noon + 60_000] }
        try executor.saveLastRequests(now: noon + 60_000)
        requests.withLock { $0 = [:] }
        try look(at: noon + Self.halfDay)
        #expect(try (0..<2).map { try isOnline($0) } == [true, false])
    }

    @Test func aJumpOfTheClockTakesNobodyOffline() throws {
        _ = try turn(true)
        try look(at: noon + 5 * day, lead: 5 * day)
        #expect(try isOnline() == true)
    }

    @Test func whoComesBackBeforeTheCommandStaysOnline() throws {
        _ = try turn(true)
        let away = IssuedCommand(
            EndAvailability(accountID: accounts[0].id), by: Identity(role: .ops, id: "gateway"), correlationID: "c")
        requests.withLock { $0 = [accounts[0].personID: noon + Self.halfDay - 1] }
        _ = try executor.commit(away, at: noon + Self.halfDay)
        #expect(try isOnline() == true)
        requests.withLock { $0 = [:] }
        _ = try executor.commit(away, at: noon + Self.halfDay)
        #expect(try isOnline() == false)
    }

    // MARK: Pushes

    @Test func newBatchesArePushedToApprovedDriversWhoAreOnline() throws {
        var pending = Account.sample(5)
        pending.status = .pending
        try executor.accounts.store(pending)
        for index in 0..<4 { _ = try executor.commit(register(fcm("\(index)"), by: of(index))) }
        _ = try executor.commit(register(fcm("p"), by: driver(pending.personID)))
        _ = try executor.commit(register(fcm("n"), by: driver("without-account")))
        _ = try turn(false, 1)
        _ = try turn(true, 2)
        var edits = BatchEdits()
        edits.orders = [EditedOrder(id: .sample(11), orderNumber: "O")]
        _ = try executor.commit(command(EditBatch(.sample(1), edits)))
        let ready = try executor.commit(command(ReadyBatch(.sample(1))))
        #expect(ready.result?.notifications.map(\.channel) == ["drivers-channel"])
        try executor.runBackgroundTasks()
        #expect(
            try executor.jobs().map { $0.split(separator: "|")[0] }
                == [0, 2, 3].map { "driver:\(accounts[$0].personID)" })
    }

    @Test func theFormerDriverGetsOnlyTheOwnPush() throws {
        for index in 0..<2 { _ = try executor.commit(register(fcm("\(index)"), by: of(index))) }
        var edits = BatchEdits()
        edits.orders = [EditedOrder(id: .sample(11), orderNumber: "O")]
        _ = try executor.commit(command(EditBatch(.sample(1), edits)))
        _ = try executor.commit(command(ReadyBatch(.sample(1))))
        try executor.runBackgroundTasks()
        _ = try executor.commit(command(AcceptBatch(.sample(1)), by: of(0)))
        let before = try executor.jobs().count
        _ = try executor.commit(command(UnassignBatch(.sample(1), reason: nil)))
        try executor.runBackgroundTasks()
        let events = try executor.database.dump(
            """
            SELECT event, recipient FROM push_jobs JOIN notifications ON notifications.id = notification_id \
            WHERE push_jobs.number > \(before) ORDER BY push_jobs.number
            """)
        #expect(
            events == [
                "batch-reassigned|driver:\(accounts[0].personID)", "new-batch-available|driver:\(accounts[1].personID)",
            ])
    }
}
