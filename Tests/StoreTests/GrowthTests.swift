import Foundation
import Primitives
import Testing

@testable import Fleet

/// What a notification costs on the disk, and what becomes of pushes that have left the queue.
@Suite struct GrowthTests {
    private let store = TemporaryStore()

    /// The most bytes of a notification that is delivered and pushed, with its parts of all indexes.
    static let bytesMax = 430.0
    private static let tables = ["notifications", "deliveries", "push_jobs", "push_outcomes", "push_names", "notification_steps"]
    private static let drivers = 1_000
    private static let rounds = 20

    /// `make growth` prints the figures.
    @Test(.fileOnly) func aDeliveredAndPushedNotificationIsSmall() throws {
        let executor = try store.executor {
            $0.lanes = [.apns, .fcm]
            $0.durability = .normal
        }
        try executor.runBackgroundTasks()
        var dice = SeededDice(seed: 1)
        let people = try (0..<Self.drivers).map { number in
            let person = "\(4_000 + number)"
            let isApple = number.isMultiple(of: 2)
            let token = isApple ? String(format: "%064x", number + 1) : "fcm-token-\(number)"
            _ = try executor.commit(register(isApple ? apns(token) : fcm(token), by: driver(person)))
            return (id: person, phone: dice.uuid())
        }
        var ids = ULIDSource()
        var sequence: Int64 = 0
        for round in 0..<Self.rounds {
            let now = noon + Int64(round) * 60_000
            for start in stride(from: 0, to: Self.drivers, by: 50) {
                try executor.transaction { () throws(DatabaseError) in
                    for number in start..<(start + 50) {
                        let job = job(
                            round * Self.drivers + number, people[number].id, Int64(round + 1), now, ids.next(at: now), &dice)
                        try executor.notifications.append(job)
                        let push = PushIntent(
                            notificationID: job.notification.id, audience: .driver(people[number].id), entity: .job("ORD"))
                        _ = try executor.outbox.enqueue([push], of: [job.notification], now: now)
                    }
                }
            }
            sequence += 1
            try executor.transaction { () throws(DatabaseError) in
                for person in people {
                    let key = ReceiptKey(channel: "driver-\(person.id)", owner: "driver:\(person.id)", device: person.phone)
                    _ = try executor.record(
                        Receipt(key: key, after: sequence - 1, upTo: sequence, writtenAt: now + 25, confirmedAt: now + 90),
                        now: now + 90)
                }
            }
            try push(executor, now: now + 800, &dice)
        }
        try check(executor, count: Self.drivers * Self.rounds)
    }

    /// A job for a driver, with the customer's name and two addresses.
    private func job(
        _ number: Int, _ person: String, _ sequence: Int64, _ now: Int64, _ id: String, _ dice: inout SeededDice
    ) -> LoggedNotification {
        let correlationID = dice.uuid()
        let data = """
            {"bookingId":"BK-\(100_000 + number)","customerName":"Some Name","pickupAddress":"\(dice.next(400)) High Street, Town",\
            "dropoffAddress":"\(dice.next(300)) Low Road, Town","notificationId":"\(id)","correlationId":"\(correlationID)"}
            """
        return LoggedNotification(
            notification: Notification(
                id: id, channel: "driver-\(person)", event: "job-assigned", data: Array(data.utf8), createdAt: now,
                expiresAt: now + 3_600_000, collapseKey: "order:ORD-\(100_000 + number)"),
            sequence: sequence, correlationID: correlationID, actor: "admin:ada", action: "assign", readAt: nil)
    }

    private func push(_ executor: CommandExecutor, now: Int64, _ dice: inout SeededDice) throws {
        for lane in [PushLane.apns, .fcm] {
            var outcomes: [PushOutcome] = []
            repeat {
                let report = PushReport(lane: lane, outcomes: outcomes, capacity: 500)
                let lease = try executor.transaction { () throws(DatabaseError) in
                    try executor.outbox.handle(report, now: now).lease
                }
                outcomes = lease.jobs.map { job in
                    let id = lane == .apns ? dice.uuid() : "0:\(1_500_415_314_455_276 + job.number)%\(dice.digits(16))"
                    return PushOutcome(job, .accepted(messageID: id), wasTried: true)
                }
            } while !outcomes.isEmpty
        }
        while try executor.move(most: 500) > 0 {}
    }

    private func check(_ executor: CommandExecutor, count: Int) throws {
        #expect(try executor.count(deliveryRows) == count && executor.count("deliveries") == 0)
        #expect(try executor.count("push_outcomes") == count && executor.count("push_jobs") == 0)
        var total = 0.0
        for table in Self.tables {
            let rows = try executor.database.dump(
                """
                SELECT dbstat.name, SUM(pgsize) FROM dbstat JOIN sqlite_master ON sqlite_master.name = dbstat.name \
                WHERE tbl_name = '\(table)' GROUP BY 1
                """)
            for row in rows {
                let parts = row.split(separator: "|")
                let bytes = (Double(parts[1]) ?? 0) / Double(count)
                total += bytes
                print("  \(parts[0]): \(String(format: "%.1f", bytes)) bytes per notification")
            }
        }
        print("a delivered and pushed notification: \(String(format: "%.1f", total)) bytes, at most \(Self.bytesMax)")
        #expect(total <= Self.bytesMax)
    }
}

/// A generator with a seed, and ids made with it.
struct SeededDice {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func word() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }

    mutating func next(_ end: Int) -> Int { Int(word() % UInt64(end)) }

    mutating func digits(_ count: Int) -> String { String((0..<count).map { _ in Array("0123456789abcdef")[next(16)] }) }

    mutating func uuid() -> String { [8, 4, 4, 4, 12].map { digits($0) }.joined(separator: "-") }
}
