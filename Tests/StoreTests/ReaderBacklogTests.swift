import Access
import Testing
import Threads

@testable import Fleet

extension NotificationTable {
    /// A whole list.
    func reports(
        _ filter: NotificationFilter, before position: Position = .end, limit: Int, now: Int64 = noon
    ) throws(DatabaseError) -> [NotificationReport] {
        var search = NotificationSearch(filter, before: position, limit: limit, now: now)
        while try !self.search(&search) {}
        return search.found
    }
}

/// Whose turn it is to be read for.
@Suite struct ReaderBacklogTests {
    private func query(_ name: String, by subject: Identity?) -> ReaderRequest {
        .query(QueryRequest(.order(name), by: subject.map(Sender.person), replyTo: ReplyAddress(loop: 0, request: 0)))
    }

    private func replay(_ number: Int, of driver: String) -> ReaderRequest {
        .replay(
            ReplayRequest(
                key: phone(of: driver), after: Int64(number), limit: 1, isFirst: false, replyTo: ReplyAddress(loop: 0, request: 0)
            ))
    }

    private func list(_ name: String, by subject: Identity) -> ReaderRequest {
        .list(
            QueryRequest(.order(name), by: .person(subject), replyTo: ReplyAddress(loop: 0, request: 0)),
            NotificationSearch(NotificationFilter(), before: .end, limit: 1, now: noon))
    }

    private func name(_ request: ReaderRequest) -> String {
        switch request {
        case .query(let query): "\(query.query)".split(separator: "\"").dropFirst().first.map(String.init) ?? ""
        case .replay(let replay): "\(replay.key.owner) \(replay.after)"
        case .list(let query, _): "list " + ("\(query.query)".split(separator: "\"").dropFirst().first.map(String.init) ?? "")
        }
    }

    private func take(_ backlog: inout ReaderBacklog, most: Int = 100, at now: Int64 = 0) -> [String] {
        var batch: [ReaderRequest] = []
        backlog.take(into: &batch, most: most, at: now)
        return batch.map(name)
    }

    @Test func subjectsTakeTurns() {
        var backlog = ReaderBacklog(countMax: 100, perSubjectMax: 50)
        for number in 0..<3 { #expect(backlog.append(query("a\(number)", by: driver("a")), at: 0) == .queued) }
        for name in ["b0", "b1"] { #expect(backlog.append(query(name, by: driver("b")), at: 0) == .queued) }
        #expect(backlog.append(query("c0", by: admin), at: 0) == .queued)
        #expect(take(&backlog, most: 2) == ["a0", "b0"])
        #expect(backlog.append(query("d0", by: nil), at: 0) == .queued)
        #expect(take(&backlog) == ["c0", "a1", "b1", "d0", "a2"])
        #expect(take(&backlog) == [] && backlog.count == 0)
    }

    @Test func replaysQueriesAndListsTakeTurns() {
        var backlog = ReaderBacklog(countMax: 100, perSubjectMax: 50)
        for number in 0..<2 {
            _ = backlog.append(query("q\(number)", by: driver("a")), at: 0)
            _ = backlog.append(list("l\(number)", by: admin), at: 0)
            _ = backlog.append(replay(number, of: "a"), at: 0)
        }
        #expect(take(&backlog) == ["driver:a 0", "q0", "list l0"], "a part of a list ends a batch")
        #expect(take(&backlog) == ["driver:a 1", "q1", "list l1"])
    }

    @Test func queriesOfASubjectAreLimited() {
        var backlog = ReaderBacklog(countMax: 8, perSubjectMax: 2)
        let results = (0..<3).map { backlog.append(query("\($0)", by: driver("a")), at: 0) }
        #expect(results == [.queued, .queued, .subjectFull])
        #expect(backlog.append(query("x", by: driver("b")), at: 0) == .queued)
        let ofAdmin = (0..<5).map { backlog.append(query("\($0)", by: admin), at: 0) }
        #expect(ofAdmin == [.queued, .queued, .queued, .queued, .subjectFull], "half of the places")
        #expect(backlog.append(replay(0, of: "a"), at: 0) == .queueFull, "a quarter is reserved for queries")
        #expect(backlog.append(query("y", by: driver("b")), at: 0) == .queued)
        #expect(backlog.append(query("z", by: driver("c")), at: 0) == .queueFull)
        _ = take(&backlog, most: 1)
        #expect(backlog.append(query("again", by: driver("a")), at: 0) == .queued)
        #expect(take(&backlog).count == 8)
    }

    /// A list that is being searched counts as a query of its subject.
    @Test func listsCountForTheirSubject() {
        var backlog = ReaderBacklog(countMax: 8, perSubjectMax: 1)
        #expect(backlog.append(list("l", by: driver("a")), at: 0) == .queued)
        #expect(backlog.append(query("q", by: driver("a")), at: 0) == .subjectFull)
        #expect(take(&backlog) == ["list l"])
        #expect(backlog.append(query("q", by: driver("a")), at: 0) == .queued)
    }

    @Test func waitsAreMeasured() {
        var backlog = ReaderBacklog(countMax: 8, perSubjectMax: 8)
        _ = backlog.append(query("q", by: driver("a")), at: 0)
        _ = backlog.append(replay(0, of: "a"), at: 90)
        _ = backlog.append(list("l", by: admin), at: 0)
        _ = take(&backlog, at: 100)
        #expect(backlog.waits.count == 2 && backlog.waits.milliseconds == 110)
        #expect(backlog.waits.buckets[WaitTimes.bounds.firstIndex(of: 0.01) ?? 0] == 1)
        #expect(backlog.waits.buckets[WaitTimes.bounds.firstIndex(of: 0.1) ?? 0] == 1)
    }
}

/// Lists that search through much, and find little.
@Suite struct NotificationSearchTests {
    private let store = TemporaryStore()

    /// Adds notifications of driver 1, a millisecond after each other.
    private func fill(_ count: Int, _ database: Database) throws {
        try database.run(
            """
            WITH RECURSIVE log (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM log WHERE n < \(count)) \
            INSERT INTO notifications (number, id, channel, sequence, event, data, correlation_id, actor, action, created_at, \
            expires_at, collapse_key, unconfirmed) SELECT n, '0000000000' || SUBSTR('' || (10000000000000000 + n), 2), 'driver-1', \
            n, 'hello', '{}', 'c', 'admin:1', 'announce', \(noon) + n, \(noon) + \(day) + n % 7, 'k', n % 3 / 2 FROM log
            """)
    }

    private func steps(_ search: NotificationSearch, _ table: NotificationTable) throws -> (parts: Int, found: [Int64]) {
        var (search, parts) = (search, 1)
        while try !table.search(&search) { parts += 1 }
        return (parts, search.found.map(\.logged.sequence))
    }

    @Test func aListIsSearchedInParts() throws {
        let executor = try store.executor()
        try fill(1_200, executor.database)
        try executor.database.run("UPDATE notifications SET confirmed_at = 1 WHERE sequence = 3 OR sequence = 600")
        let confirmed = NotificationFilter(state: .only(.confirmed))
        func search(_ filter: NotificationFilter, _ limit: Int) throws -> (parts: Int, found: [Int64]) {
            try steps(NotificationSearch(filter, before: .end, limit: limit, now: noon), executor.notifications)
        }
        #expect(try search(confirmed, 9) == (3, [600, 3]))
        #expect(try search(confirmed, 1) == (2, [600]))
        #expect(try search(NotificationFilter(channel: "driver-1", state: .only(.confirmed)), 9) == (3, [600, 3]))
        #expect(try search(NotificationFilter(), 2) == (1, [1_200, 1_199]))
    }

    /// They are found by the time at which they expire, and listed by age.
    @Test func theUnconfirmedAreListedNewestFirst() throws {
        let executor = try store.executor()
        try fill(2_000, executor.database)
        let open = (1...2_000).filter { $0 % 3 == 2 }.map(Int64.init)
        let filter = NotificationFilter(state: .unconfirmed)
        let all = try steps(NotificationSearch(filter, before: .end, limit: 200, now: noon), executor.notifications)
        #expect(all == (2, Array(open.suffix(200).reversed())))
        let position = NotificationTable.Position(id: "0000000000000000000000" + "1001", sequence: 0)
        let before = try steps(NotificationSearch(filter, before: position, limit: 5, now: noon), executor.notifications)
        #expect(before.found == Array(open.filter { $0 < 1_001 }.suffix(5).reversed()))
        let young = NotificationFilter(state: .unconfirmed, createdUntil: noon + 50)
        #expect(
            try steps(NotificationSearch(young, before: .end, limit: 3, now: noon), executor.notifications).found == [50, 47, 44])
        let later = try executor.notifications.reports(filter, limit: 2_000, now: noon + day + 3)
        #expect(later.map(\.logged.sequence) == Array(open.filter { $0 % 7 > 3 }.reversed()), "what has expired is left out")
    }

    /// The other requests do not wait until the list is complete.
    @Test func othersAreReadBetweenThePartsOfAList() throws {
        let executor = try store.executor()
        try fill(20_000, executor.database)
        let order = Lock<[Int]>([])
        let reader = try StoreReader(
            store.address, encode: { _ in [] },
            onReplies: { replies in order.withLock { $0 += replies.map(\.request.replyTo.request) } },
            onError: { Issue.record("\($0)") }, now: { noon })
        let listing = NotificationListing(state: .only(.confirmed))
        for number in 0..<3 {
            let list = Query.notificationLog(listing, before: nil, limit: 200)
            _ = reader.post(QueryRequest(list, by: .person(admin), replyTo: ReplyAddress(loop: 0, request: number)))
        }
        for number in 3..<6 {
            _ = reader.post(QueryRequest(.order("A"), by: .person(driver("1")), replyTo: ReplyAddress(loop: 0, request: number)))
        }
        reader.stop()
        #expect(order.withLock { $0 } == [3, 4, 5, 0, 1, 2])
    }
}
