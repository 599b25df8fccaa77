import FleetRules
import Glibc
import Testing
import Threads

@testable import Store

/// Numbers to look at, not promises: `FLEETWIRE_MEASURE=1 swift test -c release -Xswiftc -enable-testing --filter PushMeasurement`.
@Suite(.serialized, .enabled(if: getenv("FLEETWIRE_MEASURE") != nil)) struct PushMeasurement {
    private static let drivers = 2_000
    private static let pushes = 200_000
    private static let room = 100

    /// What the store spends on one push: making its job, handing it over, and noting what became of it.
    @Test func microsecondsPerPush() throws {
        let storeroom = TemporaryStore()
        let ledger = try storeroom.pushing([.fcm])
        try ledger.doChores()
        try ledger.transaction { () throws(DatabaseError) in
            for number in 0..<Self.drivers {
                _ = try ledger.execute(register(fcm("\(number)"), by: driver("\(number)")), now: noon)
            }
        }
        let without = try time(ledger, of: "announced to people without phones") { number in
            let drivers = (0..<100).map { "none-\((number * 100 + $0) % Self.drivers)" }
            return Announcement(type: "HELLO", audience: .drivers(drivers), data: Self.data)
        }
        let with = try time(ledger, of: "announced to people with one") { number in
            let drivers = (0..<100).map { "\((number * 100 + $0) % Self.drivers)" }
            return Announcement(type: "HELLO", audience: .drivers(drivers), data: Self.data)
        }
        print("making a job: \((with - without)) µs; \(Self.residentMegabytes()) MB with \(Self.pushes) in the queue")
        #expect(try ledger.report().depth == Self.pushes)

        var outcomes: [PushOutcome] = []
        var carried = 0
        let start = Self.threadNanoseconds()
        while carried < Self.pushes {
            // As under load: ten reports share a commit.
            try ledger.transaction { () throws(DatabaseError) in
                for _ in 0..<10 {
                    let report = PushReport(lane: .fcm, outcomes: outcomes, capacity: Self.room)
                    let supply = try ledger.outbox.handle(report, now: noon + Int64(carried / 100)).lease
                    outcomes = supply.jobs.map {
                        PushOutcome($0, .accepted(messageID: "projects/p/messages/\($0.number)"), wasTried: true)
                    }
                    carried += supply.jobs.count
                }
            }
        }
        let each = Double(Self.threadNanoseconds() - start) / 1e3 / Double(Self.pushes)
        print("handing over and noting the answer: \(each) µs; \(Self.residentMegabytes()) MB")
    }

    /// The same where the lane keeps up: what is made is carried at once.
    @Test func microsecondsPerPushInASteadyStream() throws {
        let ledger = try TemporaryStore().pushing([.fcm])
        try ledger.doChores()
        try ledger.transaction { () throws(DatabaseError) in
            for number in 0..<Self.drivers {
                _ = try ledger.execute(register(fcm("\(number)"), by: driver("\(number)")), now: noon)
            }
        }
        let rounds = 400
        for recipients in ["none-", ""] {
            var outcomes: [PushOutcome] = []
            let start = Self.threadNanoseconds()
            for round in 0..<rounds {
                try ledger.transaction { () throws(DatabaseError) in
                    for part in 0..<5 {
                        let drivers = (0..<100).map { "\(recipients)\(((round * 5 + part) * 100 + $0) % Self.drivers)" }
                        let announcement = Announcement(type: "HELLO", audience: .drivers(drivers), data: Self.data)
                        _ = try ledger.execute(command(.announce(announcement)), now: noon + Int64(round))
                        let report = PushReport(lane: .fcm, outcomes: outcomes, capacity: Self.room)
                        let supply = try ledger.outbox.handle(report, now: noon + Int64(round)).lease
                        outcomes = supply.jobs.map { PushOutcome($0, .accepted(messageID: "m-\($0.number)"), wasTried: true) }
                    }
                }
            }
            let each = Double(Self.threadNanoseconds() - start) / 1e3 / Double(rounds * 500)
            print("a steady stream to people \(recipients.isEmpty ? "with" : "without") phones: \(each) µs per notification")
        }
    }

    private static let data = Array(#"{"title":"New batch","text":"\#(String(repeating: "x", count: 200))"}"#.utf8)

    /// Microseconds of CPU per notification.
    private func time(_ ledger: CommandExecutor, of what: String, _ announcement: (Int) -> Announcement) throws -> Double {
        let start = Self.threadNanoseconds()
        for batch in 0..<(Self.pushes / 1_000) {
            try ledger.transaction { () throws(DatabaseError) in
                for number in 0..<10 {
                    _ = try ledger.execute(command(.announce(announcement(batch * 10 + number))), now: noon + Int64(batch))
                }
            }
        }
        let each = Double(Self.threadNanoseconds() - start) / 1e3 / Double(Self.pushes)
        print("\(what): \(each) µs")
        return each
    }

    private static func threadNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Of the process, now.
    private static func residentMegabytes() -> Int {
        let descriptor = open("/proc/self/statm", O_RDONLY)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 200)
        let count = read(descriptor, &bytes, bytes.count)
        let fields = String(decoding: bytes[..<max(0, count)], as: UTF8.self).split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4096 / 1_000_000 : 0
    }
}
