import Testing
import Threads

@testable import Fleet

@Suite struct ExpiryCountTests {
    private let store = TemporaryStore()
    private let hour: Int64 = 3_600_000

    private func texts(_ counts: NotificationCounts?) -> [String]? {
        counts?.arrivals.map { "\($0.event) \($0.state) \($1)" }.sorted()
    }

    @Test func countsWhatExpiresWithoutASignOfTheRecipient() throws {
        let executor = try store.pushing()
        let people = ["7", "8"].map { customer($0, bookings: ["A"]) }
        for person in people { _ = try executor.commit(register(fcm(person.id), by: person)) }
        let ids = try ["1", "2", "3", "4"].map { try executor.commit(announce(to: $0)).notifications[0].id }
        _ = try executor.commit(announceToAll)
        let greeting = Announcement(type: "HELLO", audience: .customer("7"), data: Array("{}".utf8))
        _ = try executor.commit(command(Announce(greeting)))
        // A job for driver 42 on three channels, and its removal on four: one of them is in two inboxes.
        _ = try executor.commit(assign("A", to: "42"))
        let removal = try executor.commit(order(.removeDriver, "A")).notifications
        let removed = try #require(removal.first { $0.channel == "booking-A" }).id
        _ = try executor.commit(telemetry(ids[0], by: driver("1")))
        _ = try executor.commit(telemetry(ids[1], .dismissed, by: driver("2")))
        _ = try executor.commit(command(MarkRead(nil), by: driver("3")))
        _ = try executor.commit(telemetry(removed, by: people[0]))

        let reader = QueryExecutor(try Database.open(readingFrom: store.address))
        var count = ExpiryCount(from: noon)
        #expect(try texts(count.next(reader, now: noon + 999)) == nil, "at most once a second")
        #expect(try texts(count.next(reader, now: noon + hour - 1)) == [])
        #expect(
            try texts(count.next(reader, now: noon + hour + 1_000)) == [
                "driver-removed expired 1", "hello expired 3", "job-assigned expired 1", "job-removed expired 1",
            ])
        #expect(try texts(count.next(reader, now: noon + hour)) == nil, "the clock was set back")
        // The notifications of events without a rule expire after a day.
        #expect(try texts(count.next(reader, now: noon + 48 * hour)) == ["job-available-again expired 1"])
    }

    /// The clock jumped forward and is repaired: counting goes on from the right time.
    @Test func countsAgainAfterTheClockWasSetBackFar() throws {
        let executor = try store.pushing()
        _ = try executor.commit(announce(to: "1"))
        let reader = QueryExecutor(try Database.open(readingFrom: store.address))
        var count = ExpiryCount(from: noon + 1_000 * hour)
        #expect(try texts(count.next(reader, now: noon)) == nil)
        #expect(try texts(count.next(reader, now: noon + hour)) == ["hello expired 1"])
    }

    @Test func doesNotCountWhatHadExpiredBefore() throws {
        let executor = try store.pushing()
        _ = try executor.commit(announce(to: "1"))
        let reader = QueryExecutor(try Database.open(readingFrom: store.address))
        var count = ExpiryCount(from: noon + hour)
        #expect(try texts(count.next(reader, now: noon + 2 * hour)) == [])
    }

    @Test func reportsAFailureOnce() throws {
        do { _ = try store.executor() }
        let reader = QueryExecutor(try Database.open(readingFrom: store.address))
        try Database.open(besideGateway: store.address).run("DROP TABLE inbox_entries")
        var count = ExpiryCount(from: noon)
        #expect(throws: DatabaseError.self) { try count.next(reader, now: noon + 1_000) }
        for second in 2..<5 { #expect(try count.next(reader, now: noon + Int64(second) * 1_000) == nil) }
    }

    @Test func theReaderCounts() throws {
        do { _ = try store.pushing().commit(announce(to: "1")) }
        let time = Lock(noon)
        let counts = WorkQueue<NotificationCounts>(capacity: 10)
        let reader = try StoreReader(
            store.address, encode: { _ in [] }, onReplies: { _ in }, onExpired: { _ = counts.post($0) },
            onError: { Issue.record("\($0)") }, now: { time.withLock { $0 } })
        time.withLock { $0 += hour }
        var batch: [NotificationCounts] = []
        #expect(counts.take(into: &batch, most: 1, waiting: 20_000) == .items)
        #expect(texts(batch.first) == ["hello expired 1"])
        reader.stop()
    }
}
