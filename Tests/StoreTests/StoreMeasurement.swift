import Glibc
import Testing
import Threads

@testable import Fleet

/// Prints measurements and checks no limits. Run it with
/// `FLEETWIRE_MEASURE=1 swift test -c release -Xswiftc -enable-testing --filter StoreMeasurement`.
@Suite(.serialized, .enabled(if: getenv("FLEETWIRE_MEASURE") != nil)) struct StoreMeasurement {
    private static let count = 40_000

    /// Measures announcements to five drivers, and assignments with three events. Each has a stored response.
    @Test(arguments: Durability.allCases) func actionsPerSecond(_ durability: Durability) throws {
        for name in ["five notifications", "assign"] {
            let store = TemporaryStore()
            var options = StoreWriter.Options(store.address, keys: testKeys("k1"), encode: FleetResponses.body(of:correlationID:))
            options.durability = durability
            options.queueMax = 2 * Self.count  // one admin may fill half of the queue
            let committed = WorkQueue<Int>(capacity: Self.count)
            let cpu = Lock<(start: UInt64, end: UInt64)>((0, 0))
            let writer = try StoreWriter(
                options,
                onOpen: { (_: CommandExecutor) throws(DatabaseError) in cpu.withLock { $0.start = Self.threadNanoseconds() } },
                onCommit: { commit in
                    for one in commit.replies { #expect(one.reply.status == 200) }
                    cpu.withLock { $0.end = Self.threadNanoseconds() }
                    if !commit.replies.isEmpty { _ = committed.post(commit.replies.count) }
                }, takePublished: { Published() }, onEvent: { Issue.record("\($0)") })
            let commands = (0..<Self.count).map { name == "assign" ? Self.assignment($0) : Self.announcement($0) }
            let start = Clock.monotonicNanoseconds()
            for (index, command) in commands.enumerated() {
                #expect(writer.post(CommandRequest(command, replyTo: ReplyAddress(loop: 0, request: index))) == .queued)
            }
            var done = 0
            var batch: [Int] = []
            while done < Self.count, committed.take(into: &batch, most: 1000) == .items { done += batch.reduce(0, +) }
            let seconds = Double(Clock.monotonicNanoseconds() - start) / 1e9
            let busy = cpu.withLock { Double($0.end - $0.start) / 1e9 }
            writer.stop()
            print(
                "\(durability.rawValue), \(name): \(Int(Double(Self.count) / seconds)) actions/s,",
                "\(Int(busy / Double(Self.count) * 1e6)) µs of CPU each, \(writer.statistics.commits) commits,",
                "\(writer.statistics.commitNanoseconds / UInt64(writer.statistics.commits) / 1000) µs each")
        }
    }

    private static func assignment(_ number: Int) -> Command {
        var changes = OrderChanges()
        changes.bookingID = .set("booking-\(number)")
        changes.pickupAddress = .set("\(number) Example Street, London")
        return assign("ORD-\(number)", to: "\(number % 500)", key: "key-\(number)", changes: changes)
    }

    private static func announcement(_ number: Int) -> Command {
        let drivers = (0..<5).map { "\((number * 5 + $0) % 2000)" }
        let data = Array(#"{"title":"New batch","text":"\#(String(repeating: "x", count: 200))"}"#.utf8)
        let announcement = Announcement(type: "NEW_BATCH_AVAILABLE", audience: .drivers(drivers), data: data)
        return command(.announce(announcement), key: "key-\(number)")
    }

    private static func threadNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
