import Access
import FanOut
import Observability
import Server
import Testing
import Threads

@testable import Gateway

@Suite struct LegacyAccessTests {
    private static let day: Int64 = 86_400_000
    private let start: Int64 = 1_806_192_000_000  // 2027-03-28
    private let lines = Lock<[String]>([])
    private let access: LegacyAccess

    init() {
        let end = start + 3 * Self.day
        let policy = ChannelPolicy([
            .init("driver-*", .ownDriver, legacy: .init(until: end, keys: ["key"])), .init("admin-channel", .admin),
            .init("tracking-*", .booking, legacy: .init(until: nil, keys: ["key"])),
        ])
        var rules = AppRules()
        rules.policy = policy
        let hub = SharedHub(wakeups: [Wakeup()], apps: [rules])
        let lines = lines
        let log = Log(level: .info, format: .json) { line in lines.withLock { $0.append(line) } }
        access = LegacyAccess(policy, app: 0, hub: hub, log: log)
    }

    /// The patterns and days of the lines since the last call.
    private func written() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines.map { line in
                (line.contains("driver-") ? "driver" : "tracking")
                    + (line.firstRange(of: "\"daysLeft\":").map { " " + line[$0.upperBound...].prefix(1) } ?? "")
            }
        }
    }

    @Test("the log has a line per rule at the start and once a day, with the days that are left, until its time is over")
    func dailyLines() {
        #expect(access.tick(at: start) == [] && written() == ["driver 3", "tracking"])
        #expect(access.tick(at: start + Self.day - 1) == [] && written() == [])
        #expect(access.tick(at: start + Self.day) == [] && written() == ["driver 2", "tracking"])
        _ = access.tick(at: start + 3 * Self.day)
        #expect(written() == ["tracking"])
    }

    @Test("a rule's subscriptions are ended once, when its time is over, and again if the clock was set back meanwhile")
    func ends() {
        #expect(access.tick(at: start + 3 * Self.day - 1) == [])
        #expect(access.tick(at: start + 3 * Self.day) == ["driver-*"])
        #expect(access.tick(at: start + 3 * Self.day + 1) == [])
        #expect(access.tick(at: start) == [] && access.tick(at: start + 300 * Self.day) == ["driver-*"])
    }

    @Test("operators see each rule, also one that nobody has used")
    func counts() {
        #expect(access.counts.map(\.pattern) == ["driver-*", "tracking-*"])
        #expect(access.families(prefix: "p").count == 2)
    }
}
