import Access
import JSON
import Primitives
import Testing

@testable import Fleet

/// What operators and dispatchers learn of notifications.
@Suite struct DeliveryReportTests {
    private let store = TemporaryStore()

    private func executor() throws -> CommandExecutor {
        try store.executor { $0.rules = pushingRules }  // notifications expire after an hour
    }

    private func list(
        _ channel: String? = nil, _ state: String? = nil, olderThan: Int = 0, at now: Int64
    ) throws -> [LoggedNotification] {
        let listing = NotificationListing(
            channel: channel, state: state.flatMap { NotificationFilter.State(name: $0) }, olderThan: olderThan)
        let query = Query.notificationLog(listing, before: nil, limit: 50)
        let result = try QueryExecutor(Database.open(readingFrom: store.address)).execute(query, now: now).get()
        guard case .notificationLog(let reports) = result else { return [] }
        return reports.map(\.logged)
    }

    @Test func listsContainOneStateEach() throws {
        let executor = try executor()
        for number in 1...5 { _ = try executor.commit(announce(to: "42"), at: noon + Int64(number)) }
        let ids = try list(at: noon + 10).map(\.notification.id)
        try executor.commit(written(phone(), upTo: 2))
        try executor.commit(confirmed(phone(), after: 2, upTo: 4))
        _ = try executor.commit(telemetry(ids[1], by: driver("42")))
        for channel in ["driver-42", nil] {
            func numbers(_ state: String, olderThan: Int = 0, at now: Int64 = noon + 10_000) throws -> [Int64] {
                try list(channel, state, olderThan: olderThan, at: now).map(\.sequence)
            }
            #expect(try numbers("created") == [5])
            #expect(try numbers("written") == [2, 1])
            #expect(try numbers("confirmed") == [3])
            #expect(try numbers("acknowledged") == [4])
            #expect(try numbers("unconfirmed") == [5, 2, 1])
            #expect(try numbers("unconfirmed", at: noon + 5_002) == [2, 1], "5 has some milliseconds left")
            #expect(try numbers("unconfirmed", olderThan: 60) == [])
            #expect(try numbers("written", olderThan: 9, at: noon + 9_001) == [1])
            #expect(try numbers("expired") == [])
            #expect(try numbers("expired", at: noon + hour + 4) == [2, 1])
            #expect(try numbers("unconfirmed", at: noon + hour + 4) == [5])
        }
        #expect(try list("driver-43", "created", at: noon + 10_000) == [])
    }

    /// A list of all channels passes over what is too young, however much that is.
    @Test func listsByAgeBeginAtThatAge() throws {
        let executor = try executor()
        for number in 1...3 { _ = try executor.commit(announce(to: "42"), at: noon + Int64(number)) }
        let time = noon + 2 * hour
        try executor.database.run(
            """
            WITH RECURSIVE young (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM young WHERE n < 100000) \
            INSERT INTO notifications (number, id, channel, sequence, event, data, correlation_id, actor, action, created_at, \
            expires_at, collapse_key) \
            SELECT 100 + n, '\(ULID.least(at: time).prefix(10))' || SUBSTR('' || (10000000000000000 + n), 2), 'driver-1', n, \
            'hello', '{}', 'c', 'admin:1', 'announce', \(time), \(time), 'k' FROM young
            """)
        for state in [nil, "expired"] {
            #expect(try list(nil, state, olderThan: 7_200 - 60, at: time).map(\.sequence) == [3, 2, 1])
        }
        let oldest = try list(nil, nil, olderThan: 7_200, at: time + 2)
        #expect(oldest.map(\.sequence) == [2, 1], "exact to the millisecond")
    }

    /// A backend may change an order very often: its list is searched in parts, as others are.
    @Test func theListOfAnOrderIsSearchedInParts() throws {
        let executor = try executor()
        var all: [String] = []
        for number in 0..<40 {
            let now = noon + Int64(number / 2)
            all += try executor.commit(assign("A", to: "\(number % 3)"), at: now).notifications.map(\.id)
            // At the same moment, with the same correlation id.
            _ = try executor.commit(assign("B", to: "\(number % 2)"), at: now)
        }
        all += try executor.commit(command(AcceptJob("A"), by: driver("0")), at: noon + 50).notifications.map(\.id)
        all.reverse()
        let queries = QueryExecutor(try Database.open(readingFrom: store.address))
        func page(_ before: String?, _ limit: Int) throws -> (ids: [String], parts: Int) {
            let query = Query.notificationLog(NotificationListing(orderCode: "A"), before: before, limit: limit)
            var (step, parts) = (try queries.begin(query, now: noon + 60), 1)
            while case .searching(let search) = step { (step, parts) = (try queries.proceed(search), parts + 1) }
            guard case .done(.success(.notificationLog(let reports))) = step else { return ([], parts) }
            return (reports.map(\.logged.notification.id), parts)
        }
        let whole = try page(nil, 200)
        #expect(whole.ids == Array(all.prefix(200)) && all.count > 100)
        #expect(whole.parts >= 40 / NotificationSearch.changesMax)
        for limit in [1, 7, 64] {
            var ids: [String] = []
            while true {
                let next = try page(ids.last, limit)
                guard !next.ids.isEmpty else { break }
                ids += next.ids
            }
            #expect(ids == all, "limit \(limit)")
        }
        #expect(try page(nil, 7).parts < whole.parts, "what is not needed is not read")
    }

    @Test func figuresCoverAnHour() throws {
        let executor = try executor()
        _ = try executor.commit(announce(to: "41"), at: noon - hour - 1)
        for number in 0..<4 { _ = try executor.commit(announce(to: "42"), at: noon + Int64(number)) }
        _ = try executor.commit(assign("A", to: "43"), at: noon)  // two of its notifications are for dispatchers
        try executor.commit(confirmed(phone(), upTo: 2, at: noon + 101))
        try executor.commit(written(phone(), after: 2, upTo: 3))
        _ = try executor.commit(command(MarkRead(nil), by: driver("42")), at: noon + 7)
        let result = try QueryExecutor(Database.open(readingFrom: store.address)).execute(.deliveryFigures, now: noon + 9_000)
        var expected = ReceiptFigures()
        (expected.created, expected.written, expected.confirmed, expected.acknowledged) = (5, 3, 2, 4)
        expected.unconfirmed = 1
        (expected.median, expected.percentile99) = (100, 101)
        #expect(result == .success(.deliveryFigures(expected)))
    }

    @Test func eachDriverIsARecipientOfABroadcast() throws {
        let executor = try store.pushing()
        for id in ["1", "2", "3"] { _ = try executor.subscribe(phone(of: id, on: "drivers-channel"), at: noon - hour) }
        _ = try executor.subscribe(phone(of: "4", on: "drivers-channel"), at: noon - 60 * hour)
        _ = try executor.commit(register(fcm("5"), by: driver("5")))
        _ = try executor.commit(register(fcm("7"), by: customer("7")))
        let id = try executor.commit(announceToAll).notifications[0].id
        _ = try executor.subscribe(phone(of: "6", on: "drivers-channel"), at: noon + 1)
        try executor.commit(written(phone(of: "1", on: "drivers-channel"), upTo: 1, at: noon + 2))
        try executor.commit(confirmed(phone(of: "2", on: "drivers-channel"), upTo: 1, at: noon + 3))
        _ = try executor.commit(telemetry(id, by: driver("3")), at: noon + 4)
        let result = try QueryExecutor(Database.open(readingFrom: store.address))
            .execute(.notificationRecipients(notificationID: id), now: noon)
        #expect(
            result
                == .success(
                    .notificationRecipients([
                        NotificationRecipient(driverID: "1", state: .written, at: noon + 2),
                        NotificationRecipient(driverID: "2", state: .confirmed, at: noon + 3),
                        NotificationRecipient(driverID: "3", state: .acknowledged, at: noon + 4),
                        NotificationRecipient(driverID: "5", state: .created, at: noon),
                    ])))
        let own = try executor.commit(announce(to: "42")).notifications[0].id
        for (id, kind) in [("X", RuleError.Kind.unknown), (own, .invalid)] {
            let answer = try store.response(to: .notificationRecipients(notificationID: id))
            #expect(throws: RuleError.self) { try answer.get() }
            if case .failure(let error) = answer { #expect(error.kind == kind) }
        }
    }

    // MARK: Updates for dispatchers

    private func updates(_ executor: CommandExecutor) -> [String] {
        executor.counter.drainUpdates().map {
            "\($0.notified) \($0.driverID) \($0.bookingReference ?? "-") \($0.state) \($0.at - noon)"
        }
    }

    @Test func dispatchersLearnOfTheFirstConfirmation() throws {
        let executor = try executor()
        _ = try executor.commit(assign("A", to: "42"))
        for device in ["a", "b"] { try executor.commit(confirmed(phone(device), upTo: 1, at: noon + 3)) }
        #expect(updates(executor) == ["job-assigned 42 A confirmed 3"])
        // What drivers cause concerns them alone, and broadcasts have too many recipients.
        _ = try executor.commit(announceToAll)
        _ = try executor.subscribe(phone(on: "drivers-channel"))
        try executor.commit(confirmed(phone(on: "drivers-channel"), upTo: 1))
        #expect(updates(executor) == [])
    }

    @Test func dispatchersLearnOnceWhatIsNotConfirmedInTime() throws {
        let executor = try executor()
        for code in ["A", "B"] { _ = try executor.commit(assign(code, to: "42")) }
        _ = try executor.commit(assign("C", to: "43"), at: noon + 1)
        try executor.commit(confirmed(phone(), upTo: 1))
        _ = updates(executor)
        func check(at now: Int64) throws -> [String] {
            let hasMore = try executor.transaction { () throws(DatabaseError) in try executor.checkConfirmations(now: now) }
            #expect(!hasMore)
            return updates(executor)
        }
        #expect(try check(at: noon + 4_999) == [])
        #expect(try check(at: noon + 5_000) == ["job-assigned 42 B unconfirmed 5000"])
        #expect(try check(at: noon + 5_001) == ["job-assigned 43 C unconfirmed 5001"])
        #expect(try check(at: noon + 9_000) == [])
        _ = try executor.commit(assign("D", to: "43"), at: noon + 1)
        #expect(try check(at: noon + 2 * hour) == [], "the gateway was off")
    }

    @Test func dispatchersLearnOfPushes() throws {
        let executor = try store.pushing()
        for name in ["a", "b"] { _ = try executor.commit(register(fcm(name), by: driver("42"))) }
        func send(_ results: PushOutcome.Result...) throws -> [String] {
            _ = try executor.commit(assign("A\(results.count)", to: "42"))
            for (job, result) in zip(try executor.claim(), results) {
                try executor.report([PushOutcome(job, result, wasTried: true)], at: noon + 1)
            }
            return updates(executor)
        }
        let (accepted, failed) = (PushOutcome.Result.accepted(messageID: nil), PushOutcome.Result.failed(reason: "r"))
        #expect(try send(accepted, accepted) == ["job-assigned 42 A2 pushed 1"])
        _ = try executor.commit(unregister(fcm("b"), by: driver("42")))
        #expect(try send(failed) == ["job-assigned 42 A1 pushFailed 1"])
    }

    @Test func aFailedPushIsReportedOnlyIfNoOtherDeviceGetsIt() throws {
        let executor = try store.pushing()
        for name in ["a", "b", "c"] { _ = try executor.commit(register(fcm(name), by: driver("42"))) }
        _ = try executor.commit(assign("A", to: "42"))
        for (job, result) in zip(
            try executor.claim(), [.failed(reason: "r"), .accepted(messageID: nil), .failed(reason: "r")] as [PushOutcome.Result])
        {
            try executor.report([PushOutcome(job, result, wasTried: true)], at: noon + 1)
        }
        #expect(updates(executor) == ["job-assigned 42 A pushed 1"])
    }

    @Test func anUpdateNamesWhatTheNotificationConcerns() throws {
        func update(_ channel: String, _ actor: String, _ data: String) -> NotificationUpdate? {
            let notification = Notification(
                id: "N", channel: channel, event: "e", data: Array(data.utf8), createdAt: 1, expiresAt: 2, collapseKey: "N")
            let logged = LoggedNotification(
                notification: notification, sequence: 1, correlationID: "c", actor: actor, action: "a", readAt: nil)
            return NotificationUpdate(logged, .pushFailed, at: noon)
        }
        let start = #"{"notificationId":"N","event":"e","driverId":"4","#
        let end = #""state":"push_failed","at":"2026-11-21T12:00:00.000Z"}"#
        for (data, members) in [
            (#"{"bookingReference":"B","routeId":null}"#, #""bookingReference":"B","#),
            (#"{"orderRef":"O"}"#, #""bookingReference":"O","#),
            (#"{"routeId":"R"}"#, #""routeId":"R","#), ("{}", ""),
        ] {
            let json = try #require(update("driver-4", "admin:1", data)?.data)
            #expect(String(decoding: json, as: UTF8.self) == start + members + end)
        }
        #expect(update("drivers-channel", "admin:1", "{}") == nil && update("driver-4", "driver:4", "{}") == nil)
    }
}
