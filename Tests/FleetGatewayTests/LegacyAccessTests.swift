import Access
import FanOut
import Observability
import PusherProtocol
import Server
import Testing
import Threads

@testable import FleetGateway
@testable import Realtime

@Suite struct LegacyAccessTests {
    private static let day: Int64 = 86_400_000
    private let start: Int64 = 1_806_192_000_000  // 2027-03-28
    private let lines = Lock<[String]>([])
    private let access: LegacyAccess
    private let hub: SharedHub

    init() {
        let end = start + 3 * Self.day
        let policy = ChannelPolicy([
            .init("driver-*", .ownDriver, legacy: .init(until: end, keys: ["key"])), .init("admin-channel", .admin),
            .init("tracking-*", .booking, legacy: .init(until: nil, keys: ["key"])),
        ])
        var rules = AppRules()
        rules.channels = policy
        hub = SharedHub(wakeups: [Wakeup()], apps: [rules])
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

    /// Subscribes a connection to names without a signature.
    private func subscribe(_ socket: SocketID, to names: [String]) throws {
        _ = hub.open(socket, app: 0)
        var woken = SharedHub.ThreadsToWake()
        for name in names {
            let request = SubscriptionRequest(channel: name)
            let grant = try request.grant(to: socket, key: "key", limits: Limits(), user: nil) { _, _ in true }
            hub.apply(.subscribe(socket, grant.asLegacy), &woken)
        }
    }

    private func end(_ pattern: String) {
        var woken = SharedHub.ThreadsToWake()
        hub.apply(.endLegacy(pattern: pattern, app: 0), &woken)
    }

    /// A subscription that has waited for the store or the cluster opens after the time is over.
    @Test("a rule's subscriptions are ended when its time is over, and those that open afterwards, too")
    func ends() throws {
        let (x, y) = (try #require(SocketID("1.0")), try #require(SocketID("2.1")))
        let end = start + 3 * Self.day
        #expect(access.tick(at: end) == [], "nobody is subscribed")
        try subscribe(x, to: ["driver-42", "tracking-R1"])
        #expect(access.tick(at: end - 1) == [])
        #expect(access.tick(at: end) == ["driver-*"] && access.tick(at: end + 1) == ["driver-*"], "until they are ended")
        self.end("driver-*")
        #expect(access.tick(at: end + 2) == [] && !access.isEnding("driver-*"))
        try subscribe(y, to: ["driver-43"])
        #expect(access.tick(at: end + 3) == ["driver-*"])
    }

    @Test("while slices follow, they are not begun again")
    func endsInSlices() throws {
        let x = try #require(SocketID("1.0"))
        try subscribe(x, to: (0..<300).map { "driver-\($0)" })
        let end = start + 3 * Self.day
        #expect(access.tick(at: end) == ["driver-*"])
        self.end("driver-*")
        #expect(access.isEnding("driver-*") && access.tick(at: end + 1) == [])
        self.end("driver-*")
        #expect(!access.isEnding("driver-*") && access.tick(at: end + 2) == [])
    }

    @Test("operators see each rule, also one that nobody has used")
    func counts() {
        #expect(access.counts.map(\.pattern) == ["driver-*", "tracking-*"])
        #expect(access.families.count == 2)
    }
}
