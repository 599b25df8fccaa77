import Access
import FleetRules
import TestSupport
import Testing

@testable import Store

/// Phones that come, go and change hands while pushes are under way and the process is killed: a token is its latest
/// owner's, a phone gets a notification once, states only move forward, and nothing is lost.
@Suite struct PushPropertyTests {
    private static let people = ["1", "2", "3"].map(driver)
    private static let tokens = (0..<5).map { fcm("\($0)") } + [apns("abcdef0123456789"), apns("abcdef0123456780")]
    private static let names: [String?] = [nil, "phone", "tablet"]

    /// What may follow what.
    private static let next: [String: Set<String>] = [
        "queued": ["queued", "sending", "expired", "cancelled"],
        "waiting": ["waiting", "queued", "sending", "expired", "cancelled"],
        "sending": ["sending", "queued", "waiting", "accepted", "failed", "expired", "cancelled"],
        "accepted": ["accepted"], "failed": ["failed"], "expired": ["expired"], "cancelled": ["cancelled"],
    ]

    @Test(arguments: 1...15) func nothingIsLost(seed: UInt64) throws {
        var dice = SplitMix(seed: seed)
        let room = TemporaryStore()
        var world = World(ledger: try room.pushing([.fcm, .apns]))
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
                // Killed: the file is all that is left.
                world.ledger = try TemporaryStore().ledger()
                world.ledger = try room.pushing([.fcm, .apns])
                world.hands = [:]
            }
            try world.check(Self.next)
        }
        try world.finish()
    }

    /// The store, and what is known of it.
    private struct World {
        var ledger: CommandExecutor
        var now = noon
        var hands: [PushLane: [PushJob]] = [:]
        /// By the token's text, as it was promised.
        private var owners: [String: (owner: String, name: String?)] = [:]
        private var states: [String: String] = [:]
        /// The numbers of jobs that lanes have had.
        private var tried: Set<String> = []
        private var jobsMade = 0

        init(ledger: CommandExecutor) { self.ledger = ledger }

        mutating func announce(to person: Identity) throws {
            jobsMade += owners.values.count { $0.owner == person.key }
            _ = try ledger.settle(StoreTests.announce(to: person.id), at: now)
        }

        mutating func register(_ token: DeviceToken, by person: Identity, name: String?) throws {
            let known = owners[token.text]
            let kept = name ?? (known?.owner == person.key ? known?.name : nil)
            if let kept { owners = owners.filter { $0.value.owner != person.key || $0.value.name != kept } }
            owners[token.text] = (person.key, kept)
            _ = try ledger.settle(StoreTests.register(token, by: person, deviceID: name), at: now)
        }

        mutating func unregister(_ token: DeviceToken, by person: Identity) throws {
            if owners[token.text]?.owner == person.key { owners[token.text] = nil }
            _ = try ledger.settle(StoreTests.unregister(token, by: person), at: now)
        }

        mutating func report(_ lane: PushLane, _ dice: inout SplitMix) throws {
            var kept: [PushJob] = []
            var outcomes: [PushOutcome] = []
            for job in hands[lane] ?? [] {
                switch Int.random(in: 0..<7, using: &dice) {
                case 0: kept.append(job)
                case 1:
                    outcomes.append(
                        PushOutcome(job, .retry(at: now + .random(in: 0...50, using: &dice), reason: "503"), wasTried: true))
                case 2: outcomes.append(PushOutcome(job, .returned, wasTried: false))
                case 3: outcomes.append(PushOutcome(job, .failed(reason: "BadTopic"), wasTried: true))
                case 4:
                    // Dead, unless its app has registered it since it was handed over.
                    let seen = job.device.lastSeenAt + 1
                    let device = try ledger.outbox.devices.device(id: job.device.id)
                    if let device, device.lastSeenAt < seen { owners[job.device.token.text] = nil }
                    outcomes.append(
                        PushOutcome(
                            job, .failed(reason: "Unregistered"), wasTried: true,
                            removal: DeviceRemoval(reason: "Unregistered", ifSeenBefore: seen)))
                default: outcomes.append(PushOutcome(job, .accepted(messageID: nil), wasTried: true))
                }
            }
            let room = Int.random(in: 0...6, using: &dice)
            let supply = try ledger.report(outcomes, room: room, lane, at: now)
            #expect(supply.jobs.count <= room)
            for job in supply.jobs { #expect(owners[job.device.token.text]?.owner == job.recipient, "it is still his") }
            hands[lane] = kept + supply.jobs
            let inHands = try ledger.database.dump("SELECT COUNT(*) FROM push_jobs WHERE state = 'sending'")
            #expect(inHands == ["\(hands.values.map(\.count).reduce(0, +))"])
        }

        mutating func check(_ next: [String: Set<String>]) throws {
            let devices = try ledger.database.dump("SELECT owner, COALESCE(device_id, '-'), id FROM devices ORDER BY id")
            let promised = owners.map { text, holder in
                let token = PushPropertyTests.tokens.first { $0.text == text } ?? fcm("")
                return "\(holder.owner)|\(holder.name ?? "-")|\(DeviceTable.id(of: token))"
            }
            try #require(Set(devices) == Set(promised))
            let rows = try ledger.database.dump("SELECT number, state FROM push_jobs")
            for row in rows {
                let parts = row.split(separator: "|").map(String.init)
                if parts[1] == "sending" { tried.insert(parts[0]) }
                let before = states.updateValue(parts[1], forKey: parts[0])
                if let before { try #require(next[before]?.contains(parts[1]) == true, "\(before) -> \(parts[1])") }
            }
            try #require(rows.count == jobsMade, "one for each phone that somebody had")
            let twice = "SELECT 1 FROM push_jobs GROUP BY notification_id, device_id HAVING COUNT(*) > 1"
            try #require(try ledger.database.dump(twice) == [])
            // Never tried and not his any more: it was cancelled at once.
            let astray = """
                SELECT number FROM push_jobs WHERE state = 'queued' \
                AND NOT EXISTS (SELECT 1 FROM devices WHERE devices.id = push_jobs.device_id AND owner = recipient)
                """
            try #require(try ledger.database.dump(astray).allSatisfy(tried.contains))
        }

        /// Carries everything that is left to its end.
        mutating func finish() throws {
            now += 1_000
            for lane in [PushLane.fcm, .apns] {
                var supply = try ledger.report(
                    (hands[lane] ?? []).map { PushOutcome($0, .returned, wasTried: false) }, room: 7, lane, at: now)
                while !supply.jobs.isEmpty || supply.hasMore {
                    supply = try ledger.report(
                        supply.jobs.map { PushOutcome($0, .accepted(messageID: nil), wasTried: true) }, room: 7, lane, at: now)
                }
            }
            #expect(try ledger.database.dump("SELECT COUNT(*) FROM push_jobs WHERE settled_at IS NULL") == ["0"])
        }
    }
}
