import Testing

@testable import Configuration

@Suite struct SettingsTests {
    @Test("The defaults are for development: loopback, port 6001, one app with well-known credentials")
    func defaults() {
        let settings = Settings()
        #expect(settings.server.host == "127.0.0.1")
        #expect(settings.server.port == 6001)
        #expect(settings.server.loops == 0)
        #expect(settings.server.drainSeconds == 10)
        #expect(settings.server.activitySeconds == 120)
        #expect(settings.server.watchdogSeconds == 30)
        #expect(settings.server.connections == 20_000)
        #expect(settings.server.bufferBytes == 268_435_456)
        #expect(settings.server.outgoingBytes == 268_435_456)
        #expect(settings.server.connectionsPerIP == 0)
        #expect(settings.server.handshakesPerIPPerSecond == 0)
        #expect(!settings.server.behindProxy)
        #expect(settings.server.trustedProxies == [])
        #expect(!settings.server.proxyProtocol)
        #expect(settings.server.tls == [])
        #expect(settings.apps == [Settings.App(id: "1001", key: "key1", secret: "secret1")])
        #expect(settings.apps[0].secrets == ["secret1"])
        #expect(settings.apps[0].enabled)
        #expect(!settings.apps[0].clientEvents)
        #expect(!settings.apps[0].subscriptionCounts)
        #expect(!settings.apps[0].tlsOnly)
        #expect(settings.apps[0].allowedOrigins == ["*"])
        #expect(settings.apps[0].limits.eventBytes == 10_240)
        #expect(settings.apps[0].limits.connections == 0)
        #expect(settings.apps[0].limits.overQuotaClose == .overCapacity)
        #expect(settings.fleet.app == "")
        #expect(settings.fleetAppIndex == 0)
        #expect(settings.channels == Settings.ChannelRule.defaults)
        #expect(settings.auth.jwt == [Settings.JWT()])
        #expect(!settings.auth.jwt[0].isEnabled)
        #expect(!settings.auth.firebase.isEnabled)
        #expect(settings.auth.firebase.role == .driver)
        #expect(settings.store.path == "var/fleetwire.db")
        #expect(settings.store.pool == 4)
        #expect(settings.store.durability == .full)
        #expect(settings.store.retentionDays == 30)
        #expect(settings.notifications == .builtIn)
        #expect(settings.metrics.prefix == "fleetwire")
        #expect(settings.metrics.token == "")
        #expect(settings.log.level == .info)
        #expect(settings.log.format == .json)
    }

    @Test(
        "A file that sets no value gives the defaults",
        arguments: ["", "\n", "# a comment", "---", "~", "{}", "server:", "server: {}\nlog: ~", "\u{FEFF}log: {}"])
    func nothing(yaml: String) {
        #expect(read(yaml) == .success(Settings()))
    }

    @Test("A path prefix is a plain path without a slash at its end")
    func pathPrefix() {
        for prefix in ["\"\"", "/ws", "/ws/app", "/application", "/a/b-c_d.e~1", "/" + String(repeating: "a", count: 99)] {
            #expect(problems("server: {path_prefix: \(prefix)}").isEmpty, "\(prefix)")
        }
        for prefix in [
            "/", "ws", "/ws/", "//ws", "/ws//x", "/..", "/./ws", "/a b", "/a%20b", "/ws?x", "/é", "/app", "/apps/1",
            "/pusher", "/api/v1", "/users", "/metrics",
            "/" + String(repeating: "a", count: 100),
        ] {
            #expect(problems("server: {path_prefix: '\(prefix)'}").count == 1, "\(prefix)")
        }
    }

    @Test("Every key sets its field")
    func everyKey() throws {
        let yaml = """
            server:
              {host: "::1", port: 1, loops: 2, drain_seconds: 3, activity_seconds: 4, behind_proxy: true,
               watchdog_seconds: 5, connections: 6, buffer_bytes: 16777217, outgoing_bytes: 16777218,
               connections_per_ip: 7, handshakes_per_ip_per_second: 8, head_bytes: 4097, path_prefix: /ws,
               trusted_proxies: [10.0.0.0/8, "::1"], proxy_protocol: true,
               tls: {certificate: c.pem, key: k.pem}}
            apps:
              - {id: a, key: b, secret: c, enabled: false, client_events: true, subscription_counts: true, tls_only: true}
              - id: 1001
                key: 0x1F
                secrets: [007, d]
                allowed_origins: [https://a.example/, "http://*.b:80", "file://"]
                limits:
                  {event_bytes: 1, channels_per_event: 2, name_length: 3, message_bytes: 1025, outbox_bytes: 65537,
                   connections: 4, over_quota_close: 4004, subscriptions: 5, batch_events: 6, presence_members: 7,
                   presence_info_bytes: 8, client_events_per_second: 9, cache_bytes: 11, channels: 12,
                   app_subscriptions: 13, commands_per_second: 14, messages_per_second: 15,
                   auth_requests_per_second: 16, fleet_commands_per_second: 17, fleet_commands_waiting: 18,
                   fleet_queries_per_second: 19, fleet_queries_waiting: 20}
            metrics: {prefix: _gate_2, token: t}
            log: {level: error, format: text}
            """
        let settings = try read(yaml, files: ["c.pem": "", "k.pem": ""]).get()
        var expected = Settings()
        expected.server.host = "::1"
        expected.server.port = 1
        expected.server.loops = 2
        expected.server.drainSeconds = 3
        expected.server.activitySeconds = 4
        expected.server.behindProxy = true
        expected.server.watchdogSeconds = 5
        expected.server.connections = 6
        expected.server.bufferBytes = 16_777_217
        expected.server.outgoingBytes = 16_777_218
        expected.server.connectionsPerIP = 7
        expected.server.handshakesPerIPPerSecond = 8
        expected.server.headBytes = 4_097
        expected.server.pathPrefix = "/ws"
        expected.server.trustedProxies = ["10.0.0.0/8", "::1"]
        expected.server.proxyProtocol = true
        expected.server.tls = [Settings.TLS(certificate: "c.pem", key: "k.pem")]
        expected.apps = [
            Settings.App(id: "a", key: "b", secret: "c"), Settings.App(id: "1001", key: "0x1F", secret: "007"),
        ]
        expected.apps[0].enabled = false
        expected.apps[0].clientEvents = true
        expected.apps[0].subscriptionCounts = true
        expected.apps[0].tlsOnly = true
        expected.apps[1].secrets = ["007", "d"]
        expected.apps[1].allowedOrigins = ["https://a.example/", "http://*.b:80", "file://"]
        expected.apps[1].limits.eventBytes = 1
        expected.apps[1].limits.channelsPerEvent = 2
        expected.apps[1].limits.nameLength = 3
        expected.apps[1].limits.messageBytes = 1025
        expected.apps[1].limits.outboxBytes = 65_537
        expected.apps[1].limits.connections = 4
        expected.apps[1].limits.overQuotaClose = .overQuota
        expected.apps[1].limits.subscriptions = 5
        expected.apps[1].limits.batchEvents = 6
        expected.apps[1].limits.presenceMembers = 7
        expected.apps[1].limits.presenceInfoBytes = 8
        expected.apps[1].limits.clientEventsPerSecond = 9
        expected.apps[1].limits.cacheBytes = 11
        expected.apps[1].limits.channels = 12
        expected.apps[1].limits.appSubscriptions = 13
        expected.apps[1].limits.commandsPerSecond = 14
        expected.apps[1].limits.messagesPerSecond = 15
        expected.apps[1].fleetLimits.authRequestsPerSecond = 16
        expected.apps[1].fleetLimits.commandsPerSecond = 17
        expected.apps[1].fleetLimits.commandsWaiting = 18
        expected.apps[1].fleetLimits.queriesPerSecond = 19
        expected.apps[1].fleetLimits.queriesWaiting = 20
        expected.metrics.prefix = "_gate_2"
        expected.metrics.token = "t"
        expected.log.level = .error
        expected.log.format = .text
        #expect(settings == expected)
    }

    @Test("Both bounds of a number's range are accepted", arguments: IntegerKey.outsideLists + IntegerKey.limits)
    func edges(key: IntegerKey) throws {
        for edge in [key.range.lowerBound, key.range.upperBound] {
            #expect(try key.value(read(key.yaml("\(edge)")).get()) == edge)
        }
    }

    @Test(
        "A number outside its range is rejected, and so is a value that is not a decimal integer",
        arguments: IntegerKey.outsideLists + IntegerKey.limits)
    func beyondEdges(key: IntegerKey) {
        let (low, high) = (key.range.lowerBound, key.range.upperBound)
        let numbers = ["\(low - 1)", "\(high + 1)", "-1", "99999999999999999999", "1e3", "0x10", "010", "+2000", "abc", "2.5"]
        for number in numbers {
            #expect(
                problems(key.yaml(number))
                    == ["c.yaml:1: \(key.path): expected an integer from \(low) to \(high), found \"\(number)\""])
        }
    }

    @Test("An app may have 1 to 10 secrets", arguments: [1, 10])
    func secrets(count: Int) throws {
        let list = (0..<count).map { "s\($0)" }
        let yaml = "apps: [{id: a, key: b, secrets: [\(list.joined(separator: ", "))]}]"
        #expect(try read(yaml).get().apps[0].secrets == list)
    }

    @Test("Every log level, log format and close code is accepted")
    func choices() throws {
        for code in [4100, 4004] {
            let yaml = "apps: [{id: a, key: b, secret: c, limits: {over_quota_close: \(code)}}]"
            #expect(try read(yaml).get().apps[0].limits.overQuotaClose.rawValue == code)
        }
        for level in Settings.Log.Level.allCases {
            #expect(try read("log: {level: \(level.rawValue)}").get().log.level == level)
        }
        for format in Settings.Log.Format.allCases {
            #expect(try read("log: {format: \(format.rawValue)}").get().log.format == format)
        }
    }
}
