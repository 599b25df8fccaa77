import Access
import Testing

@testable import Configuration

@Suite struct FleetSettingsTests {
    static let twoApps = "apps: [{id: a, key: ka, secret: x}, {id: b, key: kb, secret: x}]\n"

    @Test("The fleet's app is the app that fleet.app names or, by default, the first app")
    func app() throws {
        #expect(try read(Self.twoApps).get().fleetAppIndex == 0)
        #expect(try read(Self.twoApps + "fleet: {app: ''}").get().fleetAppIndex == 0)
        #expect(try read(Self.twoApps + "fleet: {app: a}").get().fleetAppIndex == 0)
        let settings = try read("fleet: {app: b}\n" + Self.twoApps).get()
        #expect(settings.fleetAppIndex == 1)
        #expect(settings.fleet.app == "b")
        #expect(try read(Self.twoApps, ["FLEETWIRE_FLEET_APP": "b"]).get().fleetAppIndex == 1)
    }

    @Test("An unknown app is an error that lists the known apps, at most ten of them")
    func unknownApp() {
        #expect(
            problems(Self.twoApps + "fleet: {app: c}")
                == ["c.yaml:2: fleet.app: expected a configured app's id (a, b), found \"c\""])
        #expect(
            problems("", ["FLEETWIRE_FLEET_APP": "c"])
                == ["FLEETWIRE_FLEET_APP: expected a configured app's id (1001), found \"c\""])
        let apps = (0..<12).map { "- {id: a\($0), key: k\($0), secret: s}\n" }.joined()
        #expect(
            problems("fleet: {app: c}\napps:\n" + apps) == [
                "c.yaml:1: fleet.app: expected a configured app's id "
                    + "(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9 or 2 more), found \"c\""
            ])
    }

    @Test("fleet.app is not checked if the list of apps is empty or contains an invalid app")
    func wrongApps() {
        #expect(problems("apps: []\nfleet: {app: c}").count == 1)
        #expect(problems("apps: [{id: '?', key: k, secret: s}]\nfleet: {app: c}").count == 1)
    }

    @Test("Rules in the file replace the default rules and keep their order")
    func channels() throws {
        let yaml = """
            channels:
              - {pattern: "van-*", access: own-driver, durable: true}
              - {pattern: lobby, access: open}
              - {pattern: "*", access: admin, durable: false}
            """
        #expect(
            try read(yaml).get().channels == [
                Settings.ChannelRule(pattern: "van-*", access: .ownDriver, durable: true),
                Settings.ChannelRule(pattern: "lobby", access: .open), Settings.ChannelRule(pattern: "*", access: .admin),
            ])
    }

    @Test("The list of rules may be empty")
    func noChannels() throws {
        #expect(try read("channels: []").get().channels == [])
    }

    @Test(
        "Every kind of access is accepted; some kinds require a pattern that ends in *",
        arguments: ChannelPolicy.Access.allCases)
    func access(access: ChannelPolicy.Access) throws {
        let rules = try read("channels: [{pattern: \"a-*\", access: \(access.rawValue)}]").get().channels
        #expect(rules == [Settings.ChannelRule(pattern: "a-*", access: access)])
        let lines = problems("channels: [{pattern: a, access: \(access.rawValue)}]")
        let expected = "expected a pattern that ends in * for access \(access.rawValue), found \"a\""
        #expect(lines == (access.needsWildcard ? ["c.yaml:1: channels[0].pattern: \(expected)"] : []))
    }

    @Test("Only channels with owners can be durable", arguments: ChannelPolicy.Access.allCases)
    func durable(access: ChannelPolicy.Access) {
        let lines = problems("channels: [{pattern: \"a-*\", access: \(access.rawValue), durable: true}]")
        let problem =
            "c.yaml:1: channels[0].durable: expected false for access \(access.rawValue), found true: only channels with "
            + "access own-driver, any-driver, own-customer have owners who confirm notifications"
        let hasOwners = [ChannelPolicy.Access.ownDriver, .anyDriver, .ownCustomer].contains(access)
        #expect(lines == (hasOwners ? [] : [problem]))
        #expect(problems("channels: [{pattern: \"a-*\", access: \(access.rawValue), durable: false}]") == [])
    }

    @Test("The default rules give each fleet channel the access on which existing apps rely")
    func defaults() {
        let rules = Settings.ChannelRule.defaults
        #expect(
            rules.map { "\($0.pattern) \($0.access.rawValue) \($0.durable)" } == [
                "driver-* own-driver true", "drivers-channel any-driver true", "admin-channel admin false",
                "tracking-* booking false", "booking-* booking false", "customer-* own-customer true",
            ])
    }

    static let accesses = "expected open, own-driver, any-driver, admin, booking, own-customer or ops"
    static let patterns =
        "expected 1 to 200 characters (letters, digits and any of _-=@,.;), optionally followed by *, "
        + "not beginning with private-, presence-, cache- or #"
    static let errors = [
        ConfigurationErrorTests.Case("channels:", "c.yaml:1: channels: expected a list of maps, found nothing"),
        ConfigurationErrorTests.Case("channels: {}", "c.yaml:1: channels: expected a list of maps, found a map"),
        ConfigurationErrorTests.Case("channels: [a]", "c.yaml:1: channels[0]: expected a map, found a string"),
        ConfigurationErrorTests.Case(
            "channels:\n- {durable: yes}", "c.yaml:2: channels[0].pattern: \(patterns), found nothing",
            "c.yaml:2: channels[0].access: \(accesses), found nothing",
            "c.yaml:2: channels[0].durable: expected true or false, found \"yes\""),
        ConfigurationErrorTests.Case(
            "channels: [{pattern: private-a, access: ownDriver}]",
            "c.yaml:1: channels[0].pattern: \(patterns), found \"private-a\"",
            "c.yaml:1: channels[0].access: \(accesses), found \"ownDriver\""),
        ConfigurationErrorTests.Case(
            "channels: [{pattern: a, access: open}, {pattern: a, access: admin}]",
            "c.yaml:1: channels[1].pattern: expected a unique pattern, found \"a\", the same as channels[0].pattern"),
        ConfigurationErrorTests.Case(
            "channels: [{pattern: a, access: open, durabel: true}]",
            "c.yaml:1: channels[0].durabel: unknown key; did you mean channels[0].durable?"),
        ConfigurationErrorTests.Case("fleet: {ap: a}", "c.yaml:1: fleet.ap: unknown key; did you mean fleet.app?"),
        ConfigurationErrorTests.Case(
            "fleet: {app: [a]}", "c.yaml:1: fleet.app: expected a configured app's id (1001), found a list"),
        ConfigurationErrorTests.Case("fleet: a", "c.yaml:1: fleet: expected a map, found a string"),
    ]

    @Test("An error names its location", arguments: errors)
    func error(_ example: ConfigurationErrorTests.Case) {
        #expect(problems(example.yaml) == example.lines)
    }

    @Test("No variable overrides a rule")
    func variable() {
        #expect(
            problems("", ["FLEETWIRE_CHANNELS_0_ACCESS": "open"])
                == ["FLEETWIRE_CHANNELS_0_ACCESS: unknown variable; channels is a list, which only the file can set"])
    }
}
