import Access
import Primitives
import Testing
import Threads

@testable import Fleet

@Suite struct StoreReaderTests {
    private typealias Reply = (request: QueryRequest, reply: QueryReply)

    private let store = TemporaryStore()

    private func execute(_ query: Query) throws -> Result<String, RuleError> {
        try store.response(to: query)
    }

    @Test func returnsOrdersAndRoutes() throws {
        let executor = try store.executor()
        let assigned = try executor.commit(assign("A", to: "42"))
        var action = RouteAction(id: "R", .update)
        action.changes.routeNumber = .set("7")
        _ = try executor.commit(command(action))
        let order = try execute(.order("A")).get()
        // The order is the same JSON object as in the response to the command.
        let object = try #require(order.firstMatch(of: /^\{"success":true,"data":\{"order":(\{.*\})\}\}$/)?.1)
        #expect(assigned.text.contains(#""order":\#(object)"#))
        let route = try execute(.route("R")).get()
        #expect(route.hasPrefix(#"{"success":true,"data":{"route":{"id":"R","status":"available","#) && route.hasSuffix("}}}"))
        #expect(try execute(.order("R")) == .failure(RuleError(.unknownOrder, "R")))
        #expect(try execute(.route("A")) == .failure(RuleError(.unknownRoute, "A")))
    }

    @Test func returnsADriversOpenJobsOldestFirst() throws {
        let executor = try store.executor()
        let codes = ["B", "A", "done", "others"]
        for (index, code) in codes.enumerated() {
            _ = try executor.commit(assign(code, to: code == "others" ? "43" : "42"), at: noon + Int64(index) * 2)
        }
        _ = try executor.commit(command(RouteAction(id: "R", .assign(.init(id: Identifier("42"))))), at: noon + 1)
        _ = try executor.commit(order(.cancel, "done"), at: noon + 9)
        // A later change of an order does not change its position in the list.
        _ = try executor.commit(command(AcceptJob("B"), by: driver("42")), at: noon + 9)
        let body = try execute(.jobs(driverID: "42")).get()
        #expect(
            body.matches(of: /\{"type":"(order|route)","(?:code|id)":"([^"]*)"/).map { "\($0.1) \($0.2)" }
                == ["order B", "route R", "order A"])
        #expect(body.hasPrefix(#"{"success":true,"data":{"jobs":[{"type":"order","code":"B","status":"accepted","#))
        #expect(body.hasSuffix("}]}}"))
        #expect(try execute(.jobs(driverID: "7")).get() == #"{"success":true,"data":{"jobs":[]}}"#)
    }

    @Test func returnsADriversNotificationsNewestFirst() throws {
        let executor = try store.executor()
        let notifications = try (0..<5).map { number in
            try executor.commit(assign("A\(number)", to: "42"), at: noon + Int64(number)).notifications[0]
        }
        let foreign = try executor.commit(assign("B", to: "43")).notifications[0].id
        _ = try executor.commit(command(MarkRead([notifications[4].id]), by: driver("42")), at: noon + 9)
        let whole = try execute(.notifications(of: Identity(role: .driver, id: "42"), before: nil, limit: 1)).get()
        let data = String(decoding: notifications[4].data, as: UTF8.self)
        #expect(
            whole == #"{"success":true,"data":{"notifications":[{"id":"\#(notifications[4].id)","event":"job-assigned","#
                + #""channel":"driver-42","data":\#(data),"createdAt":"2026-11-21T12:00:00.004Z","#
                + #""readAt":"2026-11-21T12:00:00.009Z"}]}}"#)

        let page = { (before: Int?, limit: Int) in
            try execute(
                .notifications(of: Identity(role: .driver, id: "42"), before: before.map { notifications[$0].id }, limit: limit)
            ).get()
                .matches(of: /"id":"([^"]*)"/).map { match in notifications.firstIndex { $0.id == match.1 } }
        }
        #expect(try page(nil, 200) == [4, 3, 2, 1, 0])
        #expect(try page(3, 2) == [2, 1])
        #expect(try page(0, 2) == [])
        #expect(try page(nil, 0) == [4], "a limit is at least one")
        for before in ["unknown", foreign] {
            #expect(
                try execute(.notifications(of: Identity(role: .driver, id: "42"), before: before, limit: 1))
                    == .failure(RuleError(.unknownPosition)))
        }
        #expect(
            try execute(.notifications(of: Identity(role: .driver, id: "7"), before: nil, limit: 9)).get()
                == #"{"success":true,"data":{"notifications":[]}}"#)
    }

    /// A client scrolls through a list while retention deletes its end.
    @Test func aDeletedNotificationCountsAsItsTime() throws {
        let executor = try store.executor()
        let ids = try (0..<6).map { number in
            try executor.commit(assign("A\(number)", to: "42"), at: noon + Int64(number)).notifications[0].id
        }
        for deleted in [0, 1, 3] { try executor.database.run("DELETE FROM notifications WHERE id = '\(ids[deleted])'") }
        func positions(_ query: Query) throws -> [Int?] {
            try execute(query).get().matches(of: /"id":"([^"]*)"/).map { match in ids.firstIndex { $0 == match.1 } }
        }
        let person = Identity(role: .driver, id: "42")
        for (before, expected) in [(0, []), (1, []), (2, []), (3, [2]), (4, [2]), (5, [4, 2])] as [(Int, [Int])] {
            #expect(try positions(.notifications(of: person, before: ids[before], limit: 9)) == expected, "\(before)")
            let listing = NotificationListing(channel: "driver-42")
            #expect(try positions(.notificationLog(listing, before: ids[before], limit: 9)) == expected, "\(before)")
            let all = try positions(.notificationLog(NotificationListing(), before: ids[before], limit: 99)).compactMap(\.self)
            #expect(all == expected, "\(before)")
        }
        for (time, expected) in [(noon - 1, []), (noon + day, [5, 4, 2])] as [(Int64, [Int])] {
            #expect(try positions(.notifications(of: person, before: ULID.least(at: time), limit: 9)) == expected)
        }
        let customer = Identity(role: .customer, id: "7")
        #expect(try positions(.notifications(of: customer, before: ids[0], limit: 9)) == [])
        for before in ["unknown", ids[0].lowercased(), ids[0] + "0"] {
            #expect(throws: RuleError.self) { try positions(.notifications(of: person, before: before, limit: 9)) }
        }
    }

    @Test func returnsTheHistoryOfANotification() throws {
        let executor = try store.executor()
        let notification = try executor.commit(assign("A", to: "42")).notifications[0]
        _ = try executor.commit(telemetry(notification.id, by: driver("42")), at: noon + 1)
        _ = try executor.commit(command(MarkRead(nil), by: driver("42")), at: noon + 2)
        _ = try executor.commit(telemetry(notification.id, .viewed, by: driver("42")), at: noon + 3)
        let data = String(decoding: notification.data, as: UTF8.self)
        let report =
            #""by":"driver:42","toldAt":"2026-11-21T11:59:59Z","#
            + #""detail":{"type":"new_job","entityId":"B-1","metadata":{"title":"New job"}}}"#
        #expect(
            try execute(.notificationHistory(notificationID: notification.id)).get()
                == #"{"notification":{"id":"\#(notification.id)","channel":"driver-42","sequence":1,"event":"job-assigned","#
                + #""state":"acknowledged","data":\#(data),"createdAt":"2026-11-21T12:00:00.000Z","#
                + #""expiresAt":"2026-11-22T12:00:00.000Z","writtenAt":null,"confirmedAt":null,"#
                + #""acknowledgedAt":"2026-11-21T12:00:00.001Z","#
                + #""collapseKey":"\#(notification.collapseKey)","correlationId":"c-1","actor":"admin:1","action":"assign","#
                + #""readAt":"2026-11-21T12:00:00.002Z"},"steps":[{"step":"created","at":"2026-11-21T12:00:00.000Z"},"#
                + #"{"step":"received","at":"2026-11-21T12:00:00.001Z",\#(report),"#
                + #"{"step":"read","at":"2026-11-21T12:00:00.002Z"},"#
                + #"{"step":"action_view_now","at":"2026-11-21T12:00:00.003Z",\#(report)]}"#)
        #expect(
            try execute(.notificationHistory(notificationID: "X")) == .failure(RuleError(.unknownNotification, "X")))
    }

    @Test func returnsTheNotificationLogOfAllChannelsOrOfOne() throws {
        let executor = try store.executor()
        for number in 0..<3 { _ = try executor.commit(assign("A\(number)", to: "\(number)"), at: noon + Int64(number)) }
        let page = { (channel: String?, before: String?, limit: Int) in
            try execute(.notificationLog(NotificationListing(channel: channel), before: before, limit: limit)).map { body in
                (
                    body.matches(of: /"id":"([^"]*)","channel"/).map { String($0.1) },
                    body.matches(of: /"channel":"([^"]*)","sequence":([0-9]+)/).map { "\($0.1) \($0.2)" }
                )
            }.get()
        }
        let (ids, all) = try page(nil, nil, 200)
        #expect(all.prefix(4) == ["admin-channel 6", "admin-channel 5", "driver-2 1", "admin-channel 4"] && all.count == 9)
        #expect(try page(nil, ids[3], 2).0 == Array(ids[4..<6]))
        #expect(try page("admin-channel", nil, 2).1 == ["admin-channel 6", "admin-channel 5"])
        #expect(try page("admin-channel", ids[1], 2).1 == ["admin-channel 4", "admin-channel 3"])
        #expect(throws: RuleError.self) { try page("admin-channel", ids[2], 2) }
        #expect(throws: RuleError.self) { try page(nil, "unknown", 2) }
        #expect(try page("unknown", nil, 2).0 == [])
    }

    /// What a subject reads is counted in rows, those of each part of a list.
    @Test func tellsHowMuchEachSubjectReads() throws {
        let executor = try store.executor()
        for _ in 0..<120 { _ = try executor.commit(announce(to: "42")) }
        let replies = WorkQueue<Reply>(capacity: 1000)
        let rows = Lock<[String: Int]>([:])
        let reader = try StoreReader(
            store.address, encode: FleetResponses.body(of:),
            onReplies: { for reply in $0 { _ = replies.post(reply) } },
            onRead: { count, subject in rows.withLock { $0[subject.key ?? "", default: 0] += count } },
            onError: { Issue.record("\($0)") })
        let address = ReplyAddress(loop: 0, request: 0)
        let queries: [(Query, Identity?)] = [
            (.notifications(of: driver("42"), before: nil, limit: 100), driver("42")), (.order("A"), driver("43")),
            (.notificationLog(NotificationListing(), before: nil, limit: 200), admin),
            (.notificationLog(NotificationListing(), before: nil, limit: 200), nil),
        ]
        for (query, subject) in queries { _ = reader.post(QueryRequest(query, by: subject.map(Sender.person), replyTo: address)) }
        reader.stop()
        #expect(replies.depth == 4)
        // The 100 of the page, and none for an order that does not exist.
        #expect(rows.withLock { $0 } == ["driver:42": 100, "admin:1": 120])
    }

    /// A query that is posted after a reply sees the commit of that reply.
    @Test func readerSeesPublishedCommits() throws {
        let harness = try WriterHarness(store)
        let replies = WorkQueue<Reply>(capacity: 1000)
        let reader = try StoreReader(
            store.address, encode: FleetResponses.body(of:),
            onReplies: { for reply in $0 { _ = replies.post(reply) } }, onError: { Issue.record("\($0)") })
        var batch: [Reply] = []
        for number in 0..<100 {
            #expect(harness.execute(assign("A\(number)", to: "42"))?.status == 200)
            #expect(reader.post(QueryRequest(.order("A\(number)"), replyTo: ReplyAddress(loop: 1, request: number))) == .queued)
            #expect(replies.take(into: &batch, most: 1, waiting: 10_000) == .items)
            #expect(batch.first?.request.replyTo.request == number)
            guard case .found = batch.first?.reply else {
                Issue.record("order \(number) not found")
                return
            }
        }
        for number in 0..<100 {
            _ = reader.post(QueryRequest(.order("unknown"), replyTo: ReplyAddress(loop: 0, request: number)))
        }
        reader.stop()
        #expect(reader.post(QueryRequest(.order("late"), replyTo: ReplyAddress(loop: 0, request: 0))) == .queueFull)
        #expect(replies.depth == 100, "stop executes the queued queries")
        harness.stop()
    }

    /// Each thread has its connection. Whichever serves a query, it sees the commits before it.
    @Test func severalThreadsSeePublishedCommits() throws {
        let harness = try WriterHarness(store)
        let replies = WorkQueue<Reply>(capacity: 1000)
        let reader = try StoreReader(
            store.address, threadCount: 3, encode: FleetResponses.body(of:),
            onReplies: { for reply in $0 { _ = replies.post(reply) } }, onError: { Issue.record("\($0)") })
        var batch: [Reply] = []
        for number in 0..<50 {
            #expect(harness.execute(assign("A\(number)", to: "42"))?.status == 200)
            for request in 0..<4 {
                let query = QueryRequest(.order("A\(number)"), replyTo: ReplyAddress(loop: 1, request: request))
                #expect(reader.post(query) == .queued)
            }
            var answered: Set<Int> = []
            while answered.count < 4, replies.take(into: &batch, most: 1, waiting: 10_000) == .items {
                guard case .found = batch[0].reply else {
                    Issue.record("order \(number) not found")
                    return
                }
                answered.insert(batch[0].request.replyTo.request)
            }
            #expect(answered == [0, 1, 2, 3])
        }
        for number in 0..<100 {
            _ = reader.post(QueryRequest(.order("unknown"), replyTo: ReplyAddress(loop: 0, request: number)))
        }
        reader.stop()
        #expect(replies.depth == 100, "stop executes the queued queries")
        harness.stop()
    }

    /// What waits behind a long read is served by a thread that is free.
    @Test(.fileOnly) func aLongReadDelaysNoneThatAnotherThreadCanServe() throws {
        let executor = try store.executor()
        for code in ["SLOW0", "SLOW1", "SLOW2", "QUICK"] { _ = try executor.commit(assign(code, to: "42")) }
        let ends = (0..<3).map { _ in Monitor(false) }
        let begun = WorkQueue<Int>(capacity: 10)
        let replies = WorkQueue<Reply>(capacity: 100)
        let reader = try StoreReader(
            store.address, threadCount: 2,
            encode: { result in
                if case .order(let order) = result, let number = order.code.last?.wholeNumberValue {
                    _ = begun.post(number)
                    _ = ends[number].wait(milliseconds: 60_000, until: { $0 }, then: { $0 })
                }
                return FleetResponses.body(of: result)
            },
            onReplies: { for reply in $0 { _ = replies.post(reply) } }, onError: { Issue.record("\($0)") })
        func read(_ code: String) {
            #expect(reader.post(QueryRequest(.order(code), replyTo: ReplyAddress(loop: 0, request: 0))) == .queued)
        }
        func end(_ number: Int) {
            ends[number].withLock { $0 = true }
            ends[number].signal()
        }
        var numbers: [Int] = []
        for number in 0..<2 {
            read("SLOW\(number)")
            #expect(begun.take(into: &numbers, most: 1, waiting: 60_000) == .items && numbers == [number])
        }
        // One thread begins the third long read, with short ones behind it. Then the other thread becomes free.
        read("SLOW2")
        for _ in 0..<10 { read("QUICK") }
        end(0)
        #expect(begun.take(into: &numbers, most: 1, waiting: 60_000) == .items && numbers == [2])
        end(1)
        var (batch, quick): ([Reply], Int) = ([], 0)
        while quick < 10, replies.take(into: &batch, most: 1, waiting: 20_000) == .items {
            if batch[0].request.query == .order("QUICK") { quick += 1 }
        }
        #expect(quick == 10)
        end(2)
        reader.stop()
    }

    /// An hour may have a million notifications: replays do not wait until they are counted.
    @Test func figuresAreCountedBetweenOtherRequests() throws {
        let executor = try store.executor()
        let count = 30_000
        try executor.database.run(
            """
            WITH RECURSIVE log (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM log WHERE n < \(count)) \
            INSERT INTO notifications (number, id, channel, sequence, event, data, correlation_id, actor, action, created_at, \
            expires_at, collapse_key, confirmed_at) SELECT n, '\(ULID.least(at: noon).prefix(10))' \
            || SUBSTR('' || (10000000000000000 + n), 2), 'driver-1', n, 'hello', '{}', 'c', 'admin:1', 'announce', \(noon), \
            \(noon), 'k', \(noon) + n FROM log
            """)
        let answers = Lock<[String]>([])
        let reader = try StoreReader(
            store.address, encode: FleetResponses.body(of:),
            onReplies: { replies in answers.withLock { $0 += replies.map { Self.text($0.reply) } } },
            onReplays: { pages in answers.withLock { $0 += pages.map { "\($0.page?.notifications.count ?? -1)" } } },
            onError: { Issue.record("\($0)") }, now: { noon + 1 }, readClock: { reading(noon + 1, uptime: day) })
        for number in 0..<2 {
            _ = reader.post(QueryRequest(.deliveryFigures, replyTo: ReplyAddress(loop: 0, request: number)))
        }
        _ = reader.post(
            ReplayRequest(key: phone(of: "1"), after: 0, limit: 9, isFirst: false, replyTo: ReplyAddress(loop: 0, request: 2)))
        reader.stop()
        let found = answers.withLock { $0 }
        #expect(found.count == 3 && found.first == "9")
        #expect(found.last?.contains(#""created":\#(count),"written":0,"confirmed":\#(count),"#) == true)
        #expect(found.last?.contains(#""p50Ms":15000,"p99Ms":29700"#) == true && found.last == found.dropLast().last)
    }

    private static func text(_ reply: QueryReply) -> String {
        if case .found(let body) = reply { String(decoding: body, as: UTF8.self) } else { "\(reply)" }
    }

    @Test func databaseErrorsAreReportedAndMakeQueriesUnavailable() throws {
        do { _ = try store.executor() }
        let replies = WorkQueue<Reply>(capacity: 10)
        let errors = Lock<[DatabaseError]>([])
        let reader = try StoreReader(
            store.address, encode: FleetResponses.body(of:), onReplies: { for reply in $0 { _ = replies.post(reply) } },
            onError: { error in errors.withLock { $0.append(error) } })
        // Another program drops a table.
        try Database.open(besideGateway: store.address).run("DROP TABLE routes")
        for query in [Query.route("R"), .order("A")] {
            _ = reader.post(QueryRequest(query, replyTo: ReplyAddress(loop: 0, request: 0)))
        }
        reader.stop()
        var batch: [Reply] = []
        _ = replies.take(into: &batch, most: 10, waiting: 0)
        #expect(
            batch.map(\.reply) == [
                .unavailable("The store cannot be read now"), .rejected(RuleError(.unknownOrder, "A")),
            ])
        #expect(
            errors.withLock { $0.map(\.message) } == [
                TemporaryStore.isFile ? "no such table: routes" : "relation \"routes\" does not exist"
            ])
        #expect(throws: StoreError.self) {
            try StoreReader(.file("/proc/none"), encode: { _ in [] }, onReplies: { _ in }, onError: { _ in })
        }
    }
}
