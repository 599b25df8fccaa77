import Testing
import Threads

@testable import Fleet

/// Which notifications the next process publishes because this one did not.
@Suite struct PublicationTests {
    private let store = TemporaryStore()

    /// Commits an assignment.
    /// - Returns: the ids of its notifications: the driver's and the two on `admin-channel`.
    private func assigned(_ executor: CommandExecutor, _ code: String, at now: Int64 = noon) throws -> [String] {
        try executor.commit(assign(code, to: "42"), at: now).notifications.map(\.id)
    }

    private func record(_ executor: CommandExecutor, position: String? = nil, recovered: [String] = []) throws {
        var published = Published()
        published.position = position
        published.recovered = recovered
        try executor.transaction { () throws(DatabaseError) in try executor.publication.record(published) }
    }

    /// The notifications that the next process publishes.
    /// - Parameter executor: nil opens the store.
    private func recovered(_ executor: CommandExecutor? = nil, at now: Int64 = noon) throws -> [String] {
        try (executor ?? store.executor()).recover(now: now).map(\.notification.id)
    }

    @Test func committedNotificationsBehindThePositionAreRecoveredInOrder() throws {
        let executor = try store.executor()
        let first = try assigned(executor, "A")
        let second = try assigned(executor, "B")
        #expect(try recovered(executor) == first + second)
        try record(executor, position: first[2])
        // The process before has found all of them: they are published one by one from now on.
        #expect(try recovered(executor) == first + second)
        try record(executor, recovered: [first[0], second[0]])
        #expect(try recovered(executor) == Array(first[1...]) + Array(second[1...]))
    }

    @Test func publishedNotificationsAreNotRecovered() throws {
        let executor = try store.executor()
        let first = try assigned(executor, "A")
        try record(executor, position: first[2])
        #expect(try recovered(executor) == [])
        let second = try assigned(executor, "B")
        try record(executor, position: second[0])
        #expect(try recovered(executor) == [second[1], second[2]])
    }

    /// A channel with a notification that waits has had no subscriber since: what followed waits behind it, although the
    /// position is later. A subscriber who got only the older one would take an old state for the present one.
    @Test func newerNotificationsOfTheSameChannelAreRecoveredToo() throws {
        let executor = try store.executor()
        let first = try assigned(executor, "A")
        #expect(try recovered(executor) == first)
        let second = try assigned(executor, "B")
        try record(executor, position: second[2], recovered: Array(first[1...]))
        for _ in 0..<2 { #expect(try recovered(executor) == [first[0], second[0]]) }
        try record(executor, recovered: [first[0], second[0]])
        #expect(try recovered(executor) == [])
    }

    @Test func adminChannelIsRecoveredForAnHourAndOthersUntilTheyExpire() throws {
        let executor = try store.executor()
        let ids = try assigned(executor, "A")
        let hour: Int64 = 3_600_000
        #expect(try recovered(executor, at: noon + hour - 1) == ids)
        let events = try executor.notifications.notification(id: ids[0])
        let expiresAt = try #require(events?.notification.expiresAt)
        #expect(try recovered(executor, at: noon + hour) == (expiresAt > noon + hour ? [ids[0]] : []))
        #expect(try recovered(executor, at: expiresAt) == [])
        #expect(try recovered(executor, at: noon) == [], "forgotten once they were not worth publishing")
    }

    /// After a jump, or if the machine was off for long, an old event must not be published as news.
    @Test func jumpOfTheClockForgetsNothingAndPublishesNothingOld() throws {
        let executor = try store.executor()
        let ids = try assigned(executor, "A")
        executor.clockLead = 300 * day
        #expect(try recovered(executor, at: noon + 300 * day) == [])
        executor.clockLead = 0
        #expect(try recovered(executor, at: noon) == ids, "the clock was set back")
        #expect(try recovered(executor, at: noon + 300 * day) == [])
        #expect(try recovered(executor, at: noon) == [], "the clock was trusted")
    }

    @Test func deletedNotificationsAreForgotten() throws {
        let executor = try store.executor()
        let ids = try assigned(executor, "A")
        #expect(try recovered(executor) == ids)
        try executor.database.change("DELETE FROM notifications WHERE id = ?", .string(ids[0]))
        #expect(try recovered(executor) == [ids[1], ids[2]])
        #expect(try executor.database.dump("SELECT * FROM unpublished").count == 2)
    }

    // MARK: Writer

    @Test func writerRecordsWhatIsPublished() throws {
        let published = Lock(Published())
        let harness = try WriterHarness(
            store,
            onCommit: { commit in published.withLock { $0.position = commit.lastNotificationID ?? $0.position } },
            takePublished: {
                published.withLock { published in
                    defer { published = Published() }
                    return published
                }
            })
        for number in 0..<20 { #expect(harness.execute(assign("A\(number)", to: "42"))?.status == 200) }
        harness.stop()
        #expect(try recovered() == [])
    }

    @Test func writerRecordsNothingThatIsNotPublished() throws {
        let harness = try WriterHarness(store)
        let ids = harness.execute(assign("A", to: "42"))?.notifications.map(\.id)
        harness.stop()
        #expect(try recovered() == ids)
    }

    @Test(.fileOnly) func writerRecordsAfterAFailedTransactionWhatItCouldNotRecord() throws {
        let published = Lock(Published())
        let harness = try WriterHarness(store, takePublished: { published.withLock { $0.take() } })
        let ids = try #require(harness.execute(assign("A", to: "42"))?.notifications.map(\.id))
        let database = try Database.open(besideGateway: store.address)
        try database.transaction(.writing) { () throws(DatabaseError) in
            published.withLock { $0.position = ids[2] }
            // The writer cannot write now: the command gets 503, and what was published is taken from the hub.
            #expect(harness.execute(assign("B", to: "42"))?.isUnavailable == true)
        }
        #expect(harness.execute(assign("C", to: "42"))?.status == 200)
        harness.stop()
        let executor = try store.executor()
        let newest = try executor.notifications.reports(NotificationFilter(), limit: 3)
        let ofC = newest.map(\.logged.notification.id)
        #expect(try recovered(executor) == ofC.sorted())
    }
}

extension Published {
    fileprivate mutating func take() -> Published {
        defer { self = Published() }
        return self
    }
}
