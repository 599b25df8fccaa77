import Glibc
import Testing
import Threads

@testable import Fleet

/// Prints measurements and checks no limits. Run it with
/// `FLEETWIRE_MEASURE=1 swift test -c release -Xswiftc -enable-testing --filter PushMeasurement`.
@Suite(.serialized, .enabled(if: getenv("FLEETWIRE_MEASURE") != nil)) struct PushMeasurement {
    private static let drivers = 2_000
    private static let pushes = 200_000
    private static let capacity = 100

    /// The CPU time of one push in the store: creating its job, leasing it, and recording its result.
    @Test func microsecondsPerPush() throws {
        let store = TemporaryStore()
        let executor = try store.pushing([.fcm])
        try executor.runBackgroundTasks()
        try executor.transaction { () throws(DatabaseError) in
            for number in 0..<Self.drivers {
                _ = try executor.execute(register(fcm("\(number)"), by: driver("\(number)")), now: noon)
            }
        }
        let without = try time(executor, of: "announcement to drivers without devices") { number in
            let drivers = (0..<100).map { "none-\((number * 100 + $0) % Self.drivers)" }
            return Announcement(type: "HELLO", audience: .drivers(drivers), data: Self.data)
        }
        let with = try time(executor, of: "announcement to drivers with a device") { number in
            let drivers = (0..<100).map { "\((number * 100 + $0) % Self.drivers)" }
            return Announcement(type: "HELLO", audience: .drivers(drivers), data: Self.data)
        }
        print("creating a job: \((with - without)) µs; \(Self.residentMegabytes()) MB with \(Self.pushes) in the queue")
        #expect(try executor.outbox.jobs.unsent(.fcm).depth == Self.pushes)

        var outcomes: [PushOutcome] = []
        var done = 0
        let start = Self.threadNanoseconds()
        while done < Self.pushes {
            // As under load, ten reports share a commit.
            try executor.transaction { () throws(DatabaseError) in
                for _ in 0..<10 {
                    let report = PushReport(lane: .fcm, outcomes: outcomes, capacity: Self.capacity)
                    let lease = try executor.outbox.handle(report, now: noon + Int64(done / 100)).lease
                    outcomes = lease.jobs.map {
                        PushOutcome($0, .accepted(messageID: "projects/p/messages/\($0.number)"), wasTried: true)
                    }
                    done += lease.jobs.count
                }
            }
        }
        let each = Double(Self.threadNanoseconds() - start) / 1e3 / Double(Self.pushes)
        print("leasing and recording the result: \(each) µs; \(Self.residentMegabytes()) MB")
    }

    /// The CPU time of one push if the lane keeps up, so that each job is leased at once.
    @Test func microsecondsPerPushInASteadyStream() throws {
        let executor = try TemporaryStore().pushing([.fcm])
        try executor.runBackgroundTasks()
        try executor.transaction { () throws(DatabaseError) in
            for number in 0..<Self.drivers {
                _ = try executor.execute(register(fcm("\(number)"), by: driver("\(number)")), now: noon)
            }
        }
        let rounds = 400
        for recipients in ["none-", ""] {
            var outcomes: [PushOutcome] = []
            let start = Self.threadNanoseconds()
            for round in 0..<rounds {
                try executor.transaction { () throws(DatabaseError) in
                    for part in 0..<5 {
                        let drivers = (0..<100).map { "\(recipients)\(((round * 5 + part) * 100 + $0) % Self.drivers)" }
                        let announcement = Announcement(type: "HELLO", audience: .drivers(drivers), data: Self.data)
                        _ = try executor.execute(command(Announce(announcement)), now: noon + Int64(round))
                        let report = PushReport(lane: .fcm, outcomes: outcomes, capacity: Self.capacity)
                        let lease = try executor.outbox.handle(report, now: noon + Int64(round)).lease
                        outcomes = lease.jobs.map { PushOutcome($0, .accepted(messageID: "m-\($0.number)"), wasTried: true) }
                    }
                }
            }
            let each = Double(Self.threadNanoseconds() - start) / 1e3 / Double(rounds * 500)
            print("steady stream to drivers \(recipients.isEmpty ? "with" : "without") a device: \(each) µs per notification")
        }
    }

    private static let data = Array(#"{"title":"New batch","text":"\#(String(repeating: "x", count: 200))"}"#.utf8)

    /// Executes announcements. Prints and returns the microseconds of CPU time per notification.
    private func time(_ executor: CommandExecutor, of label: String, _ announcement: (Int) -> Announcement) throws -> Double {
        let start = Self.threadNanoseconds()
        for batch in 0..<(Self.pushes / 1_000) {
            try executor.transaction { () throws(DatabaseError) in
                for number in 0..<10 {
                    _ = try executor.execute(command(Announce(announcement(batch * 10 + number))), now: noon + Int64(batch))
                }
            }
        }
        let each = Double(Self.threadNanoseconds() - start) / 1e3 / Double(Self.pushes)
        print("\(label): \(each) µs")
        return each
    }

    private static func threadNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// The resident memory of the process.
    private static func residentMegabytes() -> Int {
        let descriptor = open("/proc/self/statm", O_RDONLY)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 200)
        let count = read(descriptor, &bytes, bytes.count)
        let fields = String(decoding: bytes[..<max(0, count)], as: UTF8.self).split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4096 / 1_000_000 : 0
    }
}
