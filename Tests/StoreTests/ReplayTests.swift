import Access
import Testing
import Threads

@testable import Fleet

@Suite struct ReplayTests {
    private let store = TemporaryStore()
    private let all = phone(on: "drivers-channel")

    /// Announces to driver 42, `count` times.
    /// - Returns: the ids of the notifications.
    @discardableResult private func announce(
        _ count: Int, _ executor: CommandExecutor, at now: Int64 = noon
    ) throws -> [String] {
        try (0..<count).map { _ in
            try executor.commit(StoreTests.announce(to: "42"), at: now).notifications[0].id
        }
    }

    private func announceToAll(_ executor: CommandExecutor, at now: Int64 = noon) throws -> String {
        let notifications = try executor.commit(StoreTests.announceToAll, at: now).notifications
        return try #require(notifications.first { $0.channel == "drivers-channel" }).id
    }

    @Test func pagesHaveWhatIsBehindTheCursorInOrder() throws {
        let executor = try store.executor()
        let sent = try (0..<7).map { _ in try executor.commit(StoreTests.announce(to: "42")).notifications[0] }
        _ = try executor.commit(StoreTests.announce(to: "43"))
        let first = try store.page(phone(), after: 2, limit: 3)
        #expect(first.notifications.map(\.notification) == Array(sent[2..<5]) && first.sequences == [3, 4, 5])
        #expect(first.upTo == 5 && !first.isComplete && first.gap == nil)
        let second = try store.page(phone(), after: 5, limit: 3, isFirst: false)
        #expect(second == ReplayPage(notifications: second.notifications, upTo: 7, isComplete: true, gap: nil))
        #expect(second.sequences == [6, 7])
        #expect(try store.page(phone(), after: 5, limit: 2, isFirst: false).isComplete, "the last of them fills the page")
        let nothing = ReplayPage(notifications: [], upTo: 7, isComplete: true, gap: nil)
        #expect(try store.page(phone(), after: 7) == nothing)
        let unknown = ReplayPage(notifications: [], upTo: 0, isComplete: true, gap: nil)
        #expect(try store.page(phone(of: "9")) == unknown)
    }

    @Test func leavesOutWhatTheOwnerHasAcknowledged() throws {
        let executor = try store.executor()
        let ids = try announce(6, executor)
        _ = try executor.commit(command(MarkRead([ids[0]]), by: driver("42")))
        _ = try executor.commit(telemetry(ids[1], .viewed, by: driver("42")))
        _ = try executor.commit(telemetry(ids[2], .received, by: driver("42")))
        for other in [driver("43"), customer("42"), admin] {
            _ = try executor.commit(telemetry(ids[3], .accepted, by: other))
            _ = try executor.commit(command(MarkRead([ids[4]]), by: other))
        }
        #expect(try store.page(phone()).sequences == [4, 5, 6])
        let page = try store.page(phone(), limit: 2)
        #expect(page.sequences == [4, 5] && page.upTo == 5, "a page is filled")
        _ = try executor.commit(command(MarkRead(nil), by: driver("42")))
        #expect(try store.page(phone()) == ReplayPage(notifications: [], upTo: 6, isComplete: true, gap: nil))
    }

    /// Confirmed is not acknowledged: another device of the owner gets it, if its cursor is behind.
    @Test func aConfirmationCountsForItsDeviceOnly() throws {
        let executor = try store.executor()
        try announce(2, executor)
        _ = try executor.subscribe(phone("tablet"))
        try executor.commit(confirmed(phone(), upTo: 2))
        #expect(try store.page(phone("tablet"), after: executor.subscribe(phone("tablet")).cursor).sequences == [1, 2])
        #expect(try store.page(phone(), after: executor.subscribe(phone()).cursor).sequences == [])
    }

    @Test func aTelemetryReportOnTheDriversChannelCountsForItsDriver() throws {
        let executor = try store.executor()
        let id = try announceToAll(executor)
        _ = try executor.commit(telemetry(id, .dismissed, by: driver("43")))
        #expect(try store.page(all).sequences == [1])
        #expect(try store.page(phone(of: "43", on: "drivers-channel")).sequences == [])
    }

    // MARK: Gaps

    @Test func whatIsTooOldIsAGap() throws {
        let executor = try store.executor()
        let ids = try announce(2, executor)
        try announce(1, executor, at: noon + 1)
        try announce(1, executor, at: noon + 2)
        try announce(1, executor, at: noon + hour)
        _ = try executor.commit(telemetry(ids[1], by: driver("42")))
        let now = noon + 48 * hour
        #expect(try store.page(phone(), at: now).sequences == [1, 3, 4, 5], "48 hours old is not too old")
        let page = try store.page(phone(), at: now + 3)
        #expect(page.gap == ReplayGap(count: 3, from: noon, to: noon + 2, upTo: 4) && page.sequences == [5])
        #expect(try store.page(phone(), after: 4, at: now + 3).gap == nil)
        let end = try store.page(phone(), after: 2, at: now + 2 * hour)
        #expect(
            end
                == ReplayPage(
                    notifications: [], upTo: 5, isComplete: true,
                    gap: ReplayGap(count: 3, from: noon + 1, to: noon + hour, upTo: 5)))
        // Only what expires is left out without a gap; on a person's channel that does not matter.
        #expect(try store.page(phone(), isFirst: false, at: now + 2 * hour).sequences == [1, 3, 4, 5])
        _ = try executor.commit(command(MarkRead(nil), by: driver("42")))
        #expect(try store.page(phone(), at: now + 3).gap == nil, "all are acknowledged")
    }

    @Test func theNewestAreReplayed() throws {
        let executor = try store.executor()
        let ids = try (0..<10).flatMap { try announce(1, executor, at: noon + Int64($0)) }
        for id in [ids[3], ids[7], ids[9]] { _ = try executor.commit(telemetry(id, by: driver("42"))) }
        let page = try store.page(phone(), limit: 2, backlogLimit: 4)
        // 1, 2, 3, 5, 6, 7, 9 are pending.
        #expect(page.gap == ReplayGap(count: 3, from: noon, to: noon + 2, upTo: 3) && page.sequences == [5, 6])
        #expect(try store.page(phone(), after: page.upTo, limit: 3, isFirst: false, backlogLimit: 4).sequences == [7, 9])
        #expect(try store.page(phone(), backlogLimit: 7).gap == nil)
        #expect(try store.page(phone(), after: 3, backlogLimit: 4).gap == nil)
        #expect(try store.page(phone(), after: 2, backlogLimit: 4).gap?.count == 1)
    }

    @Test func expiredBroadcastsAreNeitherReplayedNorMissed() throws {
        let executor = try store.pushing()
        for number in 0..<5 { _ = try announceToAll(executor, at: noon + Int64(number) * 1_000) }
        // They expire an hour later.
        let page = try store.page(all, at: noon + hour + 1_000)
        #expect(page.sequences == [3, 4, 5] && page.gap == nil)
        let limited = try store.page(all, backlogLimit: 2, at: noon + hour + 1_000)
        let gap = ReplayGap(count: 1, from: noon + 2_000, to: noon + 2_000, upTo: 3)
        #expect(limited.gap == gap && limited.sequences == [4, 5])
        #expect(try store.page(all, at: noon + day) == ReplayPage(notifications: [], upTo: 5, isComplete: true, gap: nil))
        // Age alone does not matter there.
        let other = TemporaryStore()
        _ = try announceToAll(try other.executor { $0.rules = NotificationRules(rules: ["HELLO": .week]) })
        #expect(try other.page(all, at: noon + 3 * day).sequences == [1])
    }

    /// Otherwise the whole backlog would be a gap, and would be lost with the first pong.
    @Test func aJumpOfTheClockLeavesNothingOut() throws {
        let executor = try store.executor()
        try announce(2, executor)
        _ = try announceToAll(executor)
        let clock = ClockTable(database: executor.database)
        try clock.store(reading(noon, uptime: day), as: .trusted)
        // The wall clock shows 30 days more; the machine has run for a second.
        let replays = ReplayReader(try Database.open(readingFrom: store.address), backlogHours: 48, limit: 10)
        let jumped = reading(noon + 30 * day, uptime: day + 1_000)
        for (key, count) in [(phone(), 2), (all, 1)] {
            let request = ReplayRequest(
                key: key, after: 0, limit: 9, isFirst: true, replyTo: ReplyAddress(loop: 0, request: 0))
            let page = try replays.page(for: request, at: jumped)
            #expect(page.notifications.count == count && page.gap == nil)
        }
    }

    // MARK: The reader's thread

    @Test func theReaderAnswersReplaysAndQueriesInTheirOrder() throws {
        let executor = try store.executor()
        try announce(3, executor)
        let pages = Lock<[(request: ReplayRequest, page: ReplayPage?)]>([])
        let replies = Lock(0)
        let errors = Lock(0)
        let reader = try StoreReader(
            store.address, backlogHours: 1, backlogLimit: 2, encode: { _ in [] },
            onReplies: { batch in replies.withLock { $0 += batch.count } },
            onReplays: { batch in pages.withLock { $0 += batch } },
            onError: { _ in errors.withLock { $0 += 1 } }, readClock: { reading(noon + 2 * hour, uptime: day + 2 * hour) })
        let request = { (number: Int) in
            ReplayRequest(
                key: phone(), after: 0, limit: 9, isFirst: number == 0, replyTo: ReplyAddress(loop: 1, request: number))
        }
        #expect(reader.post(request(0)))
        #expect(reader.post(QueryRequest(.jobs(driverID: "42"), replyTo: ReplyAddress(loop: 1, request: 1))) == .queued)
        #expect(reader.post(request(2)))
        while pages.withLock({ $0.count }) < 2 {}
        try executor.database.run("DROP TABLE notification_steps")
        #expect(reader.post(request(3)))
        reader.stop()
        #expect(!reader.post(request(4)))
        let answered = pages.withLock { $0 }
        #expect(answered.map(\.request) == [request(0), request(2), request(3)])
        #expect(answered[0].page?.gap == ReplayGap(count: 3, from: noon, to: noon, upTo: 3))
        #expect(answered[1].page?.sequences == [1, 2, 3])
        #expect(answered[2].page == nil && errors.withLock { $0 } == 1 && replies.withLock { $0 } == 1)
    }

    /// After an outage all devices ask for a replay at once.
    @Test func replaysLeavePlacesForQueries() throws {
        do { _ = try store.executor() }
        let barrier = StartBarrier(1)
        let reader = try StoreReader(
            store.address, queueMax: 8, encode: { _ in [] }, onReplies: { _ in },
            onReplays: { batch in if batch[0].request.after == 7 { barrier.arriveAndWait() } },
            onError: { Issue.record("\($0)") })
        let post = { (after: Int64) in
            reader.post(
                ReplayRequest(
                    key: phone(), after: after, limit: 9, isFirst: true, replyTo: ReplyAddress(loop: 1, request: 0)))
        }
        #expect(post(7))
        barrier.waitForArrival()
        for _ in 0..<6 { #expect(post(0)) }
        #expect(!post(0))
        for _ in 0..<2 {
            #expect(reader.post(QueryRequest(.order("A"), replyTo: ReplyAddress(loop: 1, request: 1))) == .queued)
        }
        #expect(reader.post(QueryRequest(.order("A"), replyTo: ReplyAddress(loop: 1, request: 1))) == .queueFull)
        barrier.open()
        reader.stop()
    }
}

extension NotificationRules.Rule {
    fileprivate static let week = NotificationRules.Rule(lifetimeSeconds: 7 * 86_400, collapsesByJob: false)
}
