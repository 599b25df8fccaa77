import Foundation
import Primitives
import Testing
import Threads

@testable import Fleet

/// The first start of this version on a store with a large log of version 20.
@Suite struct StoreUpgradeTests {
    private let store = TemporaryStore()

    /// `make upgrade` sets it, shows what is printed, and runs no other test meanwhile.
    private static let wanted = ProcessInfo.processInfo.environment["UPGRADE_NOTIFICATIONS"].flatMap { Int($0) }
    private static let count = wanted ?? 2_000
    /// Sorting the ids of a million notifications in memory takes more than this.
    private static let memoryMax = 64 << 20

    @Test(.fileOnly) func aLargeLogIsMigrated() throws {
        try fill()
        let before = size()
        // From now on, VmHWM is the most since this moment: see proc(5).
        try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
        let memory = try status("VmRSS:")
        let start = Clock.monotonicMilliseconds()
        var versions: [Int] = []
        var observer = StoreWaitObserver()
        observer.onMigration = { versions = [$0, $1] }
        let database = try Database.open(store.address, durability: .normal, now: noon, observer)
        let seconds = Double(Clock.monotonicMilliseconds() - start) / 1_000
        let grown = try status("VmHWM:") - memory
        print(
            """
            \(Self.count) notifications with a delivery and a push each, \(before >> 20) MiB: migrated in \(seconds) s, with \
            \(grown >> 20) MiB of memory; the file and its log then have \(size() >> 20) MiB
            """)
        #expect(versions == [20, Schema.migrations.last?.version])
        if Self.wanted != nil { #expect(grown < Self.memoryMax) }
        for table in ["notifications", "push_jobs"] {
            #expect(try database.dump("SELECT COUNT(*) FROM \(table)") == ["\(Self.count)"])
        }
        #expect(
            try database.dump("SELECT COUNT(*), MAX(LENGTH(device)) FROM deliveries") == ["\(Self.count)|17"], "UUIDs are packed")
    }

    /// The log line, and the message to the service manager, come from this event.
    @Test func theWriterSaysThatItMigrates() throws {
        _ = try open(upTo: 20)
        let last = try #require(Schema.migrations.last?.version)
        #expect(try eventsOfAStart(store) == [.migrating(from: 20, to: last)])
        #expect(try eventsOfAStart(store) == [], "it is migrated")
        #expect(try eventsOfAStart(TemporaryStore()) == [], "it is new")
    }

    private func eventsOfAStart(_ store: TemporaryStore) throws -> [StoreEvent] {
        let harness = try WriterHarness(store)
        harness.stop()
        return harness.events.withLock { $0 }
    }

    private func open(upTo version: Int) throws -> Database {
        try Database.open(
            store.address, durability: .normal, now: noon,
            migrations: Migrations(Schema.migrations.filter { $0.version <= version }))
    }

    /// Notifications of a month to 1,000 drivers, each delivered to a phone and pushed.
    private func fill() throws {
        let connection = try open(upTo: 20)
        try connection.run("PRAGMA synchronous = OFF")
        try connection.transaction { () throws(DatabaseError) in
            let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.count))"
            let id = "'01JDQ3S8T9' || PRINTF('%016d', i)"
            let driver = "(i % 1000)"
            let time = "(\(noon) - 2592000000 + i)"
            try connection.run(
                """
                INSERT INTO notifications (id, channel, sequence, event, data, correlation_id, actor, action, created_at, \
                expires_at, collapse_key, written_at, confirmed_at, unconfirmed) \(numbers) SELECT \(id), 'driver-' || \(driver), \
                i / 1000 + 1, 'job-assigned', '{"bookingId":"BK-' || i || '","customerName":"Some Name","pickupAddress":"' || \
                (i % 400) || ' High Street, Town","dropoffAddress":"' || (i % 300) || ' Low Road, Town"}', \
                PRINTF('%08x-4b5a-4678-9abc-def012345678', i), 'admin:ada', 'assign', \(time), \(time) + 3600000, 'order:' || i, \
                \(time) + 5, \(time) + 9, 0 FROM n
                """)
            try connection.run(
                """
                INSERT INTO deliveries (channel, sequence, owner, device, written_at, confirmed_at) \(numbers) \
                SELECT 'driver-' || \(driver), i / 1000 + 1, 'driver:' || \(driver), CASE WHEN i % 4 = 0 THEN 'phone' \
                ELSE PRINTF('9f1c2d3e-4b5a-4678-9abc-%012x', \(driver)) END, \(time) + 5, \(time) + 9 FROM n
                """)
            try connection.run(
                """
                INSERT INTO push_jobs (number, lane, notification_id, device_id, recipient, collapse_key, state, turn, attempts, \
                queued_at, expires_at, message_id, settled_at) \(numbers) SELECT i, 'fcm', \(id), 'd' || \(driver), \
                'driver:' || \(driver), 'order:' || i, 'accepted', 0, 1, \(time), \(time) + 3600000, 'm' || i, \(time) + 700 FROM n
                """)
        }
        try connection.sqlite?.checkpoint()
    }

    /// The bytes of the file and its write-ahead log.
    private func size() -> Int {
        let sizes = StoreFile.sizes(path: store.path)
        return sizes.file + sizes.log
    }

    /// A size in bytes that the kernel tells of this process.
    private func status(_ name: String) throws -> Int {
        let lines = try String(contentsOfFile: "/proc/self/status", encoding: .utf8).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix(name) })
        return try #require(line.split(whereSeparator: { " \t".contains($0) }).compactMap { Int($0) }.first) << 10
    }
}
