import Access
import FleetRules
import Primitives
import Testing
import Threads

@testable import Store

@Suite struct StoreReaderTests {
    private typealias Reply = (request: QueryRequest, reply: QueryReply)

    private let room = TemporaryStore()

    private func ask(_ enquiry: Query) throws -> Result<String, RuleError> {
        try QueryExecutor(Database.open(readingFrom: room.path)).execute(enquiry).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func showsOrdersAndRoutes() throws {
        let ledger = try room.ledger()
        let assigned = try ledger.settle(assign("A", to: "42"))
        var deed = RouteAction(id: "R", .update)
        deed.changes.routeNumber = .set("7")
        _ = try ledger.settle(command(.route(deed)))
        let order = try ask(.order("A")).get()
        // As the answer to the deed showed it.
        let object = try #require(order.firstMatch(of: /^\{"success":true,"data":\{"order":(\{.*\})\}\}$/)?.1)
        #expect(assigned.text.contains(#""order":\#(object)"#))
        let route = try ask(.route("R")).get()
        #expect(route.hasPrefix(#"{"success":true,"data":{"route":{"id":"R","status":"available","#) && route.hasSuffix("}}}"))
        #expect(try ask(.order("R")) == .failure(RuleError(.unknown, "Order R not found")))
        #expect(try ask(.route("A")) == .failure(RuleError(.unknown, "Route A not found")))
    }

    @Test func showsADriversOpenJobsOldestFirst() throws {
        let ledger = try room.ledger()
        let codes = ["B", "A", "done", "others"]
        for (index, code) in codes.enumerated() {
            _ = try ledger.settle(assign(code, to: code == "others" ? "43" : "42"), at: noon + Int64(index) * 2)
        }
        _ = try ledger.settle(command(.route(RouteAction(id: "R", .assign(.init(id: Identifier("42")))))), at: noon + 1)
        _ = try ledger.settle(order(.cancel, "done"), at: noon + 9)
        // Having been touched since makes it no younger.
        _ = try ledger.settle(command(.acceptJob("B"), by: driver("42")), at: noon + 9)
        let body = try ask(.jobs(driverID: "42")).get()
        #expect(
            body.matches(of: /\{"type":"(order|route)","(?:code|id)":"([^"]*)"/).map { "\($0.1) \($0.2)" }
                == ["order B", "route R", "order A"])
        #expect(body.hasPrefix(#"{"success":true,"data":{"jobs":[{"type":"order","code":"B","status":"accepted","#))
        #expect(body.hasSuffix("}]}}"))
        #expect(try ask(.jobs(driverID: "7")).get() == #"{"success":true,"data":{"jobs":[]}}"#)
    }

    @Test func showsADriverHisNotificationsNewestFirst() throws {
        let ledger = try room.ledger()
        let notifications = try (0..<5).map { number in
            try ledger.settle(assign("A\(number)", to: "42"), at: noon + Int64(number)).notifications[0]
        }
        let foreign = try ledger.settle(assign("B", to: "43")).notifications[0].id
        _ = try ledger.settle(command(.markRead([notifications[4].id]), by: driver("42")), at: noon + 9)
        let whole = try ask(.notifications(of: Identity(role: .driver, id: "42"), before: nil, limit: 1)).get()
        let data = String(decoding: notifications[4].data, as: UTF8.self)
        #expect(
            whole == #"{"success":true,"data":{"notifications":[{"id":"\#(notifications[4].id)","event":"job-assigned","#
                + #""channel":"driver-42","data":\#(data),"createdAt":"2026-11-21T12:00:00.004Z","#
                + #""readAt":"2026-11-21T12:00:00.009Z"}]}}"#)

        let page = { (before: Int?, limit: Int) in
            try ask(
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
                try ask(.notifications(of: Identity(role: .driver, id: "42"), before: before, limit: 1))
                    == .failure(RuleError(.invalid, "before: no such notification")))
        }
        #expect(
            try ask(.notifications(of: Identity(role: .driver, id: "7"), before: nil, limit: 9)).get()
                == #"{"success":true,"data":{"notifications":[]}}"#)
    }

    @Test func showsALife() throws {
        let ledger = try room.ledger()
        let notification = try ledger.settle(assign("A", to: "42")).notifications[0]
        _ = try ledger.settle(telemetry(notification.id, by: driver("42")), at: noon + 1)
        _ = try ledger.settle(command(.markRead(nil), by: driver("42")), at: noon + 2)
        _ = try ledger.settle(telemetry(notification.id, .viewed, by: driver("42")), at: noon + 3)
        let data = String(decoding: notification.data, as: UTF8.self)
        let told =
            #""subject":"driver:42","toldAt":"2026-11-21T11:59:59Z","#
            + #""detail":{"type":"new_job","entityId":"B-1","metadata":{"title":"New job"}}}"#
        #expect(
            try ask(.notificationHistory(notificationID: notification.id)).get()
                == #"{"notification":{"id":"\#(notification.id)","channel":"driver-42","sequence":1,"event":"job-assigned","#
                + #""data":\#(data),"createdAt":"2026-11-21T12:00:00.000Z","expiresAt":"2026-11-22T12:00:00.000Z","#
                + #""collapseKey":"\#(notification.collapseKey)","correlationId":"c-1","actor":"admin:1","action":"assign","#
                + #""readAt":"2026-11-21T12:00:00.002Z"},"steps":[{"step":"created","at":"2026-11-21T12:00:00.000Z"},"#
                + #"{"step":"received","at":"2026-11-21T12:00:00.001Z",\#(told),"#
                + #"{"step":"read","at":"2026-11-21T12:00:00.002Z"},"#
                + #"{"step":"action_view_now","at":"2026-11-21T12:00:00.003Z",\#(told)]}"#)
        #expect(try ask(.notificationHistory(notificationID: "X")) == .failure(RuleError(.unknown, "Notification X not found")))
    }

    @Test func showsTheNewestLivesOfAllOrOfAChannel() throws {
        let ledger = try room.ledger()
        for number in 0..<3 { _ = try ledger.settle(assign("A\(number)", to: "\(number)"), at: noon + Int64(number)) }
        let lives = { (channel: String?, before: String?, limit: Int) in
            try ask(.notificationLog(channel: channel, before: before, limit: limit)).map { body in
                (
                    body.matches(of: /"id":"([^"]*)","channel"/).map { String($0.1) },
                    body.matches(of: /"channel":"([^"]*)","sequence":([0-9]+)/).map { "\($0.1) \($0.2)" }
                )
            }.get()
        }
        let (ids, all) = try lives(nil, nil, 200)
        #expect(all.prefix(4) == ["admin-channel 6", "admin-channel 5", "driver-2 1", "admin-channel 4"] && all.count == 9)
        #expect(try lives(nil, ids[3], 2).0 == Array(ids[4..<6]))
        #expect(try lives("admin-channel", nil, 2).1 == ["admin-channel 6", "admin-channel 5"])
        #expect(try lives("admin-channel", ids[1], 2).1 == ["admin-channel 4", "admin-channel 3"])
        #expect(throws: RuleError.self) { try lives("admin-channel", ids[2], 2) }
        #expect(throws: RuleError.self) { try lives(nil, "unknown", 2) }
        #expect(try lives("nobody", nil, 2).0 == [])
    }

    /// What was answered can be read: the reader sees every commit that was told of before it was asked.
    @Test func seesWhatWasSettled() throws {
        let scene = try WriterHarness(room)
        let answers = WorkQueue<Reply>(capacity: 1000)
        let reader = try StoreReader(
            path: room.path, onReplies: { for answer in $0 { _ = answers.post(answer) } }, onError: { Issue.record("\($0)") })
        var batch: [Reply] = []
        for number in 0..<100 {
            #expect(scene.execute(assign("A\(number)", to: "42"))?.status == 200)
            #expect(reader.post(QueryRequest(.order("A\(number)"), replyTo: ReplyAddress(loop: 1, request: number))))
            #expect(answers.take(into: &batch, most: 1, waiting: 10_000) == .items)
            #expect(batch.first?.request.replyTo.request == number)
            guard case .found = batch.first?.reply else {
                Issue.record("order \(number) is not there")
                return
            }
        }
        for number in 0..<100 {
            _ = reader.post(QueryRequest(.order("unknown"), replyTo: ReplyAddress(loop: 0, request: number)))
        }
        reader.stop()
        #expect(!reader.post(QueryRequest(.order("late"), replyTo: ReplyAddress(loop: 0, request: 0))))
        #expect(answers.depth == 100, "what waited was answered")
        scene.stop()
    }

    @Test func saysWhenItCannotRead() throws {
        do { _ = try room.ledger() }
        let answers = WorkQueue<Reply>(capacity: 10)
        let errors = Lock<[DatabaseError]>([])
        let reader = try StoreReader(
            path: room.path, onReplies: { for answer in $0 { _ = answers.post(answer) } },
            onError: { error in errors.withLock { $0.append(error) } })
        // Another program drops a table.
        try Database(path: room.path, .writing).run("DROP TABLE routes")
        for enquiry in [Query.route("R"), .order("A")] {
            _ = reader.post(QueryRequest(enquiry, replyTo: ReplyAddress(loop: 0, request: 0)))
        }
        reader.stop()
        var batch: [Reply] = []
        _ = answers.take(into: &batch, most: 10, waiting: 0)
        #expect(
            batch.map(\.reply) == [
                .unavailable("The store cannot be read now"), .rejected(RuleError(.unknown, "Order A not found")),
            ])
        #expect(errors.withLock { $0.map(\.message) } == ["no such table: routes"])
        #expect(throws: StoreError.self) { try StoreReader(path: "/proc/none", onReplies: { _ in }, onError: { _ in }) }
    }
}
