import Testing

@testable import Configuration

@Suite struct SettingsTests {
    @Test("The defaults serve development on loopback, with one well-known app")
    func defaults() {
        let settings = Settings()
        #expect(settings.server.host == "127.0.0.1")
        #expect(settings.server.port == 6001)
        #expect(settings.server.loops == 0)
        #expect(settings.server.drainSeconds == 10)
        #expect(settings.apps == [Settings.App(id: "1001", key: "key1", secret: "secret1")])
        #expect(settings.apps[0].enabled)
        #expect(settings.apps[0].limits.eventBytes == 10_240)
        #expect(settings.metrics.prefix == "fleetwire")
        #expect(settings.metrics.token == "")
        #expect(settings.log.level == .info)
        #expect(settings.log.format == .json)
    }

    @Test(
        "A text that says nothing gives the defaults",
        arguments: ["", "\n", "# a comment", "---", "~", "{}", "server:", "server: {}\nlog: ~", "\u{FEFF}log: {}"])
    func nothing(yaml: String) {
        #expect(read(yaml) == .success(Settings()))
    }

    @Test("Every key reaches its field")
    func everyKey() throws {
        let yaml = """
            server: {host: "::1", port: 1, loops: 2, drain_seconds: 3}
            apps:
              - {id: a, key: b, secret: c, enabled: false}
              - id: 1001
                key: 0x1F
                secret: 007
                limits: {event_bytes: 1, channels_per_event: 2, name_length: 3, message_bytes: 1025, outbox_bytes: 65537}
            metrics: {prefix: _gate_2, token: t}
            log: {level: error, format: text}
            """
        let settings = try read(yaml).get()
        var expected = Settings()
        expected.server.host = "::1"
        expected.server.port = 1
        expected.server.loops = 2
        expected.server.drainSeconds = 3
        expected.apps = [
            Settings.App(id: "a", key: "b", secret: "c"), Settings.App(id: "1001", key: "0x1F", secret: "007"),
        ]
        expected.apps[0].enabled = false
        expected.apps[1].limits.eventBytes = 1
        expected.apps[1].limits.channelsPerEvent = 2
        expected.apps[1].limits.nameLength = 3
        expected.apps[1].limits.messageBytes = 1025
        expected.apps[1].limits.outboxBytes = 65_537
        expected.metrics.prefix = "_gate_2"
        expected.metrics.token = "t"
        expected.log.level = .error
        expected.log.format = .text
        #expect(settings == expected)
    }

    @Test("A number may be at either edge of its range", arguments: IntegerKey.outsideLists + IntegerKey.limits)
    func edges(key: IntegerKey) throws {
        for edge in [key.range.lowerBound, key.range.upperBound] {
            #expect(try key.value(read(key.yaml("\(edge)")).get()) == edge)
        }
    }

    @Test("A number may be nothing else", arguments: IntegerKey.outsideLists + IntegerKey.limits)
    func beyondEdges(key: IntegerKey) {
        let (low, high) = (key.range.lowerBound, key.range.upperBound)
        let numbers = ["\(low - 1)", "\(high + 1)", "99999999999999999999", "1e3", "0x10", "010", "+2000", "abc", "2.5"]
        for number in numbers {
            #expect(
                problems(key.yaml(number))
                    == ["c.yaml:1: \(key.path): expected an integer from \(low) to \(high), found \"\(number)\""])
        }
    }

    @Test("Every level and format is accepted")
    func choices() throws {
        for level in Settings.Log.Level.allCases {
            #expect(try read("log: {level: \(level.rawValue)}").get().log.level == level)
        }
        for format in Settings.Log.Format.allCases {
            #expect(try read("log: {format: \(format.rawValue)}").get().log.format == format)
        }
    }
}
