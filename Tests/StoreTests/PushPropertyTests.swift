import Access
import TestSupport
import Testing

@testable import Fleet

/// Devices are registered, removed and get new owners while pushes are being sent and the process is killed. The tests
/// check that a token's owner is the user who registered it last, that each device has one job per notification, that
/// jobs change their state only as allowed, and that no job is lost.
@Suite struct PushPropertyTests {
    private static let people = ["1", "2", "3"].map(driver)
    private static let tokens = (0..<5).map { fcm("\($0)") } + [apns("abcdef0123456789"), apns("abcdef0123456780")]
    private static let names: [String?] = [nil, "phone", "tablet"]

    /// For each state, the states in which a job may be after the next step.
    private static let next: [String: Set<String>] = [
        "queued": ["queued", "sending", "expired", "cancelled"],
        "waiting": ["waiting", "queued", "sending", "expired", "cancelled"],
        "sending": ["sending", "queued", "waiting", "accepted", "failed", "expired", "cancelled"],
        "accepted": ["accepted"], "failed": ["failed"], "expired": ["expired"], "cancelled": ["cancelled"],
    ]

    @Test(arguments: 1...15) func noJobIsLost(seed: UInt64) throws {
        var dice = SplitMix(seed: seed)
        let store = TemporaryStore()
        var world = World(executor: try store.pushing([.fcm, .apns]))
        for _ in 0..<250 {
            world.now += Int64.random(in: 0...20, using: &dice)
            switch Int.random(in: 0..<12, using: &dice) {
            case 0..<4: try world.announce(to: Self.people.randomElement(using: &dice) ?? admin)
            case 4, 5:
                try world.register(
                    Self.tokens.randomElement(using: &dice) ?? fcm(""), by: Self.people.randomElement(using: &dice) ?? admin,
                    name: Self.names.randomElement(using: &dice) ?? nil)
            case 6:
                try world.unregister(
                    Self.tokens.randomElement(using: &dice) ?? fcm(""), by: Self.people.randomElement(using: &dice) ?? admin)
            case 7..<11: try world.report([.fcm, .apns].randomElement(using: &dice) ?? .fcm, &dice)
            default:
                // The process is killed: only the file is left.
                world.executor = try TemporaryStore().executor()
                world.executor = try store.pushing([.fcm, .apns])
                world.sending = [:]
            }
            try world.check(Self.next)
        }
        try world.finish()
    }

    /// The store, and its expected content.
    private struct World {
        var executor: CommandExecutor
        var now = noon
        /// Jobs leased to lanes.
        var sending: [PushLane: [PushJob]] = [:]
        /// The owner and the device name of each registered token.
        private var owners: [String: (owner: String, name: String?)] = [:]
        /// The state of each job at the last check, by job number.
        private var states: [String: String] = [:]
        /// The numbers of jobs that were leased.
        private var leased: Set<String> = []
        private var jobCount = 0

        init(executor: CommandExecutor) { self.executor = executor }

        mutating func announce(to person: Identity) throws {
            jobCount += owners.values.count { $0.owner == person.key }
            _ = try executor.commit(StoreTests.announce(to: person.id), at: now)
        }

        mutating func register(_ token: DeviceToken, by person: Identity, name: String?) throws {
            let known = owners[token.text]
            let kept = name ?? (known?.owner == person.key ? known?.name : nil)
            if let kept { owners = owners.filter { $0.value.owner != person.key || $0.value.name != kept } }
            owners[token.text] = (person.key, kept)
            _ = try executor.commit(StoreTests.register(token, by: person, deviceID: name), at: now)
        }

        mutating func unregister(_ token: DeviceToken, by person: Identity) throws {
            if owners[token.text]?.owner == person.key { owners[token.text] = nil }
            _ = try executor.commit(StoreTests.unregister(token, by: person), at: now)
        }

        mutating func report(_ lane: PushLane, _ dice: inout SplitMix) throws {
            var kept: [PushJob] = []
            var outcomes: [PushOutcome] = []
            for job in sending[lane] ?? [] {
                switch Int.random(in: 0..<7, using: &dice) {
                case 0: kept.append(job)
                case 1:
                    outcomes.append(
                        PushOutcome(job, .retry(at: now + .random(in: 0...50, using: &dice), reason: "503"), wasTried: true))
                case 2: outcomes.append(PushOutcome(job, .returned, wasTried: false))
                case 3: outcomes.append(PushOutcome(job, .failed(reason: "BadTopic"), wasTried: true))
                case 4:
                    // The provider rejects the token. The device is removed unless it was registered again after the
                    // lease.
                    let seen = job.device.lastSeenAt + 1
                    let device = try executor.outbox.devices.device(id: job.device.id)
                    if let device, device.lastSeenAt < seen { owners[job.device.token.text] = nil }
                    outcomes.append(
                        PushOutcome(
                            job, .failed(reason: "Unregistered"), wasTried: true,
                            removal: DeviceRemoval(reason: "Unregistered", ifSeenBefore: seen)))
                default: outcomes.append(PushOutcome(job, .accepted(messageID: nil), wasTried: true))
                }
            }
            let capacity = Int.random(in: 0...6, using: &dice)
            let lease = try executor.report(outcomes, capacity: capacity, lane, at: now)
            #expect(lease.jobs.count <= capacity)
            for job in lease.jobs { #expect(owners[job.device.token.text]?.owner == job.recipient, "the owner has not changed") }
            sending[lane] = kept + lease.jobs
            let count = try executor.database.dump("SELECT COUNT(*) FROM push_jobs WHERE state = 'sending'")
            #expect(count == ["\(sending.values.map(\.count).reduce(0, +))"])
        }

        mutating func check(_ next: [String: Set<String>]) throws {
            let devices = try executor.database.dump("SELECT owner, COALESCE(device_id, '-'), id FROM devices ORDER BY id")
            let expected = owners.map { text, holder in
                let token = PushPropertyTests.tokens.first { $0.text == text } ?? fcm("")
                return "\(holder.owner)|\(holder.name ?? "-")|\(DeviceTable.id(of: token))"
            }
            try #require(Set(devices) == Set(expected))
            let rows = try executor.database.dump("SELECT number, state FROM push_jobs")
            for row in rows {
                let parts = row.split(separator: "|").map(String.init)
                if parts[1] == "sending" { leased.insert(parts[0]) }
                let before = states.updateValue(parts[1], forKey: parts[0])
                if let before { try #require(next[before]?.contains(parts[1]) == true, "\(before) -> \(parts[1])") }
            }
            try #require(rows.count == jobCount, "one per notification and device")
            for lane in [PushLane.fcm, .apns] {
                let unsent = """
                    SELECT COUNT(*), COALESCE(MIN(queued_at), 0) FROM push_jobs \
                    WHERE lane = '\(lane.rawValue)' AND state IN ('queued', 'waiting')
                    """
                let queue = try executor.outbox.jobs.unsent(lane)
                try #require(try executor.database.dump(unsent) == ["\(queue.depth)|\(queue.oldestAt ?? 0)"])
            }
            let twice = "SELECT 1 FROM push_jobs GROUP BY notification_id, device_id HAVING COUNT(*) > 1"
            try #require(try executor.database.dump(twice) == [])
            // A job that was never leased is cancelled as soon as its device has another owner.
            let stale = """
                SELECT number FROM push_jobs WHERE state = 'queued' \
                AND NOT EXISTS (SELECT 1 FROM devices WHERE devices.id = push_jobs.device_id AND owner = recipient)
                """
            try #require(try executor.database.dump(stale).allSatisfy(leased.contains))
        }

        /// Sends all open jobs, and checks that they end.
        mutating func finish() throws {
            now += 1_000
            for lane in [PushLane.fcm, .apns] {
                var lease = try executor.report(
                    (sending[lane] ?? []).map { PushOutcome($0, .returned, wasTried: false) }, capacity: 7, lane, at: now)
                while !lease.jobs.isEmpty || lease.hasMore {
                    lease = try executor.report(
                        lease.jobs.map { PushOutcome($0, .accepted(messageID: nil), wasTried: true) }, capacity: 7, lane, at: now)
                }
            }
            #expect(try executor.database.dump("SELECT COUNT(*) FROM push_jobs WHERE settled_at IS NULL") == ["0"])
        }
    }
}
