import Access
import Primitives
import Testing

@testable import Fleet

/// What the store keeps of arrivals that are taken back.
@Suite struct ArrivalCorrectionStoreTests {
    private let store = TemporaryStore()
    private static let minute: Int64 = 60_000

    private func enRoute(_ executor: CommandExecutor) throws {
        var changes = OrderChanges()
        changes.pickupCoordinates = .set(coordinates("51.5", "-0.1"))
        _ = try executor.commit(assign("A", to: "42", changes: changes))
        _ = try executor.commit(command(AcceptJob("A"), by: driver("42")))
        _ = try executor.commit(command(ReportProgress("A", ProgressReport(step: .enRoute)), by: driver("42")))
    }

    private func undo(_ executor: CommandExecutor, at now: Int64, key: String? = nil) throws -> CommandReply {
        var report = ProgressReport(step: .enRoute)
        (report.isUndo, report.reason) = (true, "secret words")
        return try executor.commit(command(ReportProgress("A", report), by: driver("42"), key: key), at: now)
    }

    private func arrive(_ executor: CommandExecutor, at now: Int64) throws {
        _ = try executor.commit(command(ReportProgress("A", ProgressReport(step: .arrived)), by: driver("42")), at: now)
    }

    private func refusal(_ reply: CommandReply) -> String? { if case .rejected(let error) = reply { error.text } else { nil } }

    /// A phone was offline: the position is nine minutes old when the gateway learns of the arrival.
    @Test func theTimeToUndoBeginsAtTheReceipt() throws {
        let executor = try store.executor()
        try enRoute(executor)
        let place = Position(latitude: 51.5, longitude: -0.1, recordedAt: noon + Self.minute)
        let step = TripStep(orderCode: "A", driverID: "42", startedAt: noon, .arrive(at: place))
        _ = try executor.commit(command(step, by: driver("42")), at: noon + 10 * Self.minute)
        // A dispatcher changes the order meanwhile.
        _ = try executor.commit(order(.update, "A"), at: noon + 11 * Self.minute)
        let late = try undo(executor, at: noon + 20 * Self.minute)
        #expect(refusal(late) == "An arrival can be taken back for 10 minutes")
        let reply = try undo(executor, at: noon + 20 * Self.minute - 1)
        #expect(reply.text.contains(#""message":"Arrival taken back""#))
        let stored = try #require(try executor.orders.order(code: "A"))
        #expect(stored.assignment.status == .enRoute && stored.trip.arrivedAt == nil && !stored.trip.isArrivedByPosition)
        #expect(stored.trip.correctedAt == noon + 20 * Self.minute - 1 && stored.trip.leftAt == nil)
    }

    /// The trip began while the clock was an hour ahead.
    @Test func aClockThatWasSetBackGivesNoMoreUndos() throws {
        let executor = try store.executor()
        try enRoute(executor)
        try executor.database.run("UPDATE orders SET trip_started_at = \(noon + 60 * Self.minute)")
        for second in [1, 3] as [Int64] {
            try arrive(executor, at: noon + second * 1_000)
            #expect(refusal(try undo(executor, at: noon + second * 1_000 + 1_000)) == nil)
        }
        try arrive(executor, at: noon + 5_000)
        #expect(refusal(try undo(executor, at: noon + 6_000)) == "The arrival was taken back twice")
    }

    @Test func adminsCorrectionsAndThoseOfOtherTripsDoNotCount() throws {
        let executor = try store.executor()
        try enRoute(executor)
        var now = noon
        func next() -> Int64 {
            now += 1_000
            return now
        }
        for _ in 0..<3 {
            try arrive(executor, at: next())
            _ = try executor.commit(command(CorrectArrival("A", reason: nil)), at: next())
        }
        for _ in 0..<2 {
            try arrive(executor, at: next())
            #expect(refusal(try undo(executor, at: next())) == nil)
        }
        try arrive(executor, at: next())
        #expect(refusal(try undo(executor, at: next())) == "The arrival was taken back twice")
        // The same driver again: a new trip.
        _ = try executor.commit(order(.unassign, "A"), at: next())
        _ = try executor.commit(assign("A", to: "42"), at: next())
        _ = try executor.commit(command(AcceptJob("A"), by: driver("42")), at: next())
        _ = try executor.commit(command(ReportProgress("A", ProgressReport(step: .enRoute)), by: driver("42")), at: next())
        try arrive(executor, at: next())
        #expect(refusal(try undo(executor, at: next())) == nil)
    }

    @Test func thatTheDriverHasLeftSurvivesARestart() throws {
        let time = noon + 2 * Self.minute
        do {
            let executor = try store.executor()
            try enRoute(executor)
            try arrive(executor, at: noon + Self.minute)
            _ = try executor.commit(command(CorrectArrival("A", reason: "r"), key: "k"), at: time)
            let step = TripStep(orderCode: "A", driverID: "42", startedAt: noon, correctedAt: time, .leave(at: time + 5))
            _ = try executor.commit(command(step, by: driver("42")), at: time + 10)
            try executor.transaction { () throws(DatabaseError) in
                let position = Position(latitude: 51.5, longitude: -0.1, speed: 12.5, recordedAt: noon)
                try executor.save([DriverPosition(driverID: "42", position: position)])
            }
        }
        let executor = try store.executor()
        let trip = try #require(try executor.orders.order(code: "A")).trip
        #expect(trip.correctedAt == time && trip.leftAt == time + 5)
        var speeds: [Double?] = []
        try executor.eachDriverPosition { speeds.append($0.position.speed) }
        #expect(speeds == [12.5])
        // The next trip knows nothing of it.
        _ = try executor.commit(assign("A", to: "43"), at: time + 20)
        #expect(try executor.orders.order(code: "A")?.trip == TripRecord())
    }

    @Test func erasureRemovesTheDriversReason() throws {
        let executor = try store.executor()
        try enRoute(executor)
        try arrive(executor, at: noon + 1_000)
        _ = try undo(executor, at: noon + 2_000)
        let details = "SELECT details FROM audit WHERE action = 'correct'"
        #expect(try executor.database.dump(details)[0].contains("secret words"))
        _ = try executor.commit(command(Erase(.driver, id: "42")), at: noon + 3_000)
        try executor.runBackgroundTasks()
        #expect(try executor.database.dump(details) == ["-"])
    }

    // MARK: Accepting, and names

    @Test func acceptingABookingWithSeveralOpenOrdersNamesThem() throws {
        let executor = try store.executor()
        var changes = OrderChanges()
        changes.bookingID = .set("B")
        for code in ["A2", "A1", "A3"] { _ = try executor.commit(assign(code, to: code == "A3" ? "43" : "42", changes: changes)) }
        let accept = command(AcceptJob("B"), by: driver("42"))
        #expect(
            refusal(try executor.commit(accept)) == "Booking B has several open orders: accept one of A1, A2")
        #expect(try executor.commit(command(AcceptJob("A1"), by: driver("42"))).text.contains("A1"))
        #expect(refusal(try executor.commit(accept)) != nil, "still open")
        _ = try executor.commit(order(.cancel, "A1"))
        #expect(try executor.commit(accept).text.contains(#""code":"A2""#))
        #expect(try executor.commit(command(AcceptJob("B"), by: driver("43"))).text.contains(#""code":"A3""#))
    }

    @Test func aRoutesDriverHasTheCardsName() throws {
        let executor = try store.executor()
        var changes = DriverCardChanges()
        changes.name = .set("Dana")
        _ = try executor.commit(command(ChangeDriverCard(driverID: "42", changes)))
        _ = try executor.commit(command(RouteAction(id: "R", .assign(.init(id: Identifier("42"))))))
        let accepted = try executor.commit(command(AcceptRoute("R"), by: driver("42")))
        let event = try #require(accepted.notifications.first { $0.event == "route-accepted" })
        #expect(String(decoding: event.data, as: UTF8.self).contains(#""driverName":"Dana""#))
    }

    /// What a customer sees under way: a change of the card does not hide what comes from the account, nor does a change of
    /// the account hide the card.
    @Test func aChangedCardIsShownWithTheAccount() throws {
        let executor = try store.executor()
        let account = Account.sample()
        try executor.transaction { () throws(DatabaseError) in try executor.accounts.store(account) }
        var changes = DriverCardChanges()
        changes.vehicleColor = .set("red")
        func card(_ command: IssuedCommand) throws -> DriverCard? {
            if case .committed(let result) = try executor.commit(command) { result.effects.card } else { nil }
        }
        let changed = try #require(try card(command(ChangeDriverCard(driverID: account.personID, changes))))
        #expect(changed.vehicleColor == "red" && changed.name == "Rahul" && changed.vehicleModel == "Activa")
        let decided = try card(command(DecideAccount(.approve, driverID: account.personID)))
        #expect(decided?.vehicleColor == "red" && decided?.name == "Rahul")
    }

    @Test func theDriversNameFallsBackOnCardAndAccount() throws {
        let executor = try store.executor()
        let account = Account.sample()
        try executor.transaction { () throws(DatabaseError) in try executor.accounts.store(account) }
        func name(_ reply: CommandReply, _ event: String) -> String? {
            guard case .committed(let result) = reply else { return nil }
            return result.notifications.first { $0.event == event }.map { String(decoding: $0.data, as: UTF8.self) }
        }
        let person = driver(account.personID)
        #expect(name(try executor.commit(assign("A", to: person.id)), "job-assigned") != nil)
        let assigned = try executor.commit(assign("B", to: person.id))
        #expect(name(assigned, "order-assigned")?.contains(#""driverName":"Rahul""#) == true)
        let accepted = try executor.commit(command(AcceptJob("B"), by: person))
        #expect(name(accepted, "job-accepted")?.contains(#""driverName":"Rahul""#) == true)
        let told = name(accepted, "driver-assigned")
        #expect(told?.contains(#""vehicle_model":"Activa""#) == true && told?.contains("MH12AB1234") == true)
        var changes = DriverCardChanges()
        (changes.name, changes.licensePlate) = (.set("Card"), .set("Plate"))
        _ = try executor.commit(command(ChangeDriverCard(driverID: person.id, changes)))
        let progress = try executor.commit(command(ReportProgress("B", ProgressReport(step: .enRoute)), by: person))
        #expect(name(progress, "job-progress")?.contains(#""driverName":"Card""#) == true)
        #expect(try executor.shownCard(ofDriver: person.id)?.licensePlate == "Plate")
        #expect(try executor.shownCard(ofDriver: person.id)?.vehicleModel == "Activa")
        #expect(try executor.shownCard(ofDriver: "nobody") == nil)
        // What the order says comes first.
        var action = OrderAction(code: "C", .assign(.init(id: Identifier(person.id), name: "Given")))
        action.reason = nil
        #expect(name(try executor.commit(command(action)), "order-assigned")?.contains("Given") == true)
    }
}
