import Configuration
import TestSupport
import Testing

@testable import Migration

/// A configuration of Soketi.
@Suite struct SoketiFileTests {
    private static let app = """
        {"id":"a1","key":"k_1","secret":"\(Checked.secret)","enableClientMessages":true,"maxConnections":500,
         "maxClientEventsPerSecond":20,"maxBackendEventsPerSecond":100,"enableUserAuthentication":true,
         "webhooks":[{"url":"https://hooks.example/\(Checked.secret)?x=\(Checked.secret)","event_types":["channel_occupied","cache_miss","strange"],
                      "headers":{"X-Token":"\(Checked.secret)"},"filter":{"channel_name_starts_with":"x"}},
                     {"lambda_function":"f","lambda":{"region":"eu"},"event_types":["member_added"]}]}
        """

    @Test func readsNestedOptions() throws {
        let checked = try Checked(
            """
            {"debug":true,"host":"0.0.0.0","port":6005,"shutdownGracePeriod":2500,"pathPrefix":"/ws",
             "appManager":{"driver":"array","array":{"apps":[\(Self.app)]}},
             "ssl":{"certPath":"/etc/ssl/c.pem","keyPath":"/etc/ssl/k.pem","passphrase":"\(Checked.secret)"},
             "adapter":{"driver":"redis"},"queue":{"driver":"sqs"},"database":{"redis":{"password":"\(Checked.secret)"}},
             "presence":{"maxMembersPerChannel":50,"maxMemberSizeInKb":3},"eventLimits":{"maxPayloadInKb":20,"maxBatchSize":5},
             "metrics":{"enabled":true,"prometheus":{"prefix":"ws_"}},"webhooks":{"batching":{"enabled":true}},
             "cors":{"origin":["https://app.example","nonsense"]}}
            """)
        let settings = checked.settings
        #expect(settings.channels == [], "no name of a channel is special on the other server")
        #expect(settings.server.port == 6_005 && settings.server.host == "0.0.0.0" && settings.server.drainSeconds == 3)
        #expect(settings.server.pathPrefix == "/ws")
        let app = settings.apps[0]
        #expect(app.id == "a1" && app.key == "k_1" && app.secrets == ["SOKETI_DEFAULT_APP_SECRET-value"])
        #expect(app.clientEvents && app.enabled && app.allowedOrigins == ["https://app.example"])
        #expect(app.limits.connections == 500 && app.limits.clientEventsPerSecond == 20)
        #expect(app.limits.eventBytes == 20_480 && app.limits.batchEvents == 5)
        #expect(app.limits.presenceMembers == 50 && app.limits.presenceInfoBytes == 3_072)
        #expect(app.webhooks.map(\.url) == ["https://hooks.example/WEBHOOK_0_URL"])
        #expect(app.webhooks[0].events == ["channel_occupied", "cache_miss"] && app.webhooks[0].batch)
        for part in [
            "a configuration of Soketi", "docs/migration/soketi.md", "app \"a1\" with key \"k_1\", client events, 1 webhooks",
            "pathPrefix \"/ws\"", "adapter.driver \"redis\": several nodes need", "queue.driver \"sqs\"",
            "maxBackendEventsPerSecond: backends are not limited", "a webhook that calls a Lambda function is left out",
            "headers of a webhook are not sent", "not needed here: debug, database", "SOKETI_DEFAULT_APP_SECRET: the secret of",
            "WEBHOOK_0_URL: the url of", "an entry of cors.origin is no origin",
        ] { #expect(checked.says(part), "\(part)\n\(checked.text)") }
        #expect(checked.text.contains("  #   certificate: \"/etc/ssl/c.pem\""))
        for difference in KnownDifferences.soketi { #expect(checked.says(difference)) }
    }

    @Test func readsDottedOptions() throws {
        let checked = try Checked(
            """
            {"appManager.array.apps":[{"id":"1","key":"k","secret":"s","enabled":false},
             {"AppId":"2","AppKey":"l","AppSecret":"\(Checked.secret)","max_connections":"7","EnableClientMessages":true}],
             "eventLimits.maxPayloadInKb":1}
            """)
        let apps = checked.settings.apps
        #expect(apps.map(\.id) == ["1", "2"] && apps.map(\.key) == ["k", "l"])
        #expect(apps.map(\.enabled) == [false, true] && apps.map(\.clientEvents) == [false, true])
        #expect(apps.map(\.limits.connections) == [0, 7] && apps[1].limits.eventBytes == 1_024)
        #expect(apps[1].secrets == ["SOKETI_APP_1_SECRET-value"])
        #expect(checked.settings.server.port == 6_001, "the default of both")
    }

    /// What Soketi allows by default, the configuration allows, too (src/server.ts).
    @Test func keepsDefaultsThatDiffer() throws {
        let checked = try Checked(#"{"port":6001}"#)
        let app = checked.settings.apps[0]
        #expect(app.id == "app-id" && app.key == "app-key" && checked.says("no app is listed"))
        #expect(app.limits.eventBytes == 100 * 1_024 && app.limits.presenceInfoBytes == 2 * 1_024)
        #expect(app.limits.messageBytes >= 2 * app.limits.eventBytes)
        #expect(app.limits.presenceMembers == 100 && app.limits.batchEvents == 10 && app.limits.channelsPerEvent == 100)
        #expect(app.limits.nameLength == 200 && app.limits.connections == 0 && !app.clientEvents)
    }

    @Test func replacesWhatIsNotAcceptedHere() throws {
        let checked = try Checked(
            #"""
            {"port":70000,"appManager":{"array":{"apps":[
             {"id":"my app","key":"a.b","maxConnections":99999999,"maxEventPayloadInKb":"5000"},
             {"id":"my-app","key":"a-b"},{"id":"","key":"\u001b[31m\n- x: y"}]}}}
            """#)
        let apps = checked.settings.apps
        #expect(apps.map(\.id) == ["my-app", "my-app-2", "app"] && apps.map(\.key) == ["a-b", "a-b-2", "--31m---x--y"])
        #expect(apps[0].limits.connections == 1_000_000 && apps[0].limits.eventBytes == 1_048_576)
        #expect(checked.settings.server.port == 65_535)
        for part in [
            "the app's id \"my app\" becomes \"my-app\"", "the app's key \"a.b\" becomes \"a-b\"",
            "two apps have the id \"my-app\": the second is \"my-app-2\" here",
            "limits.connections is 1000000 instead of 99999999",
            "server.port is 65535 instead of 70000", #"\u{1b}[31m\u{a}- x: y"#,
        ] { #expect(checked.says(part), "\(part)\n\(checked.text)") }
    }

    @Test func boundsTheAppsOfAFile() throws {
        let apps = (0..<500).map { #"{"id":"a\#($0)","key":"k\#($0)"}"# }.joined(separator: ",")
        let checked = try Checked(#"{"appManager":{"array":{"apps":[\#(apps)]}}}"#)
        #expect(checked.settings.apps.count == 100 && checked.says("400 further apps are left out"))
    }

    @Test("an app with a large index is one app")
    func sparseApps() throws {
        let checked = try Checked(
            #"{"appManager.array.apps.99999.id":"x","appManager.array.apps.99999.key":"k","appManager.array.apps.7.id":"y"}"#)
        #expect(checked.settings.apps.map(\.id) == ["y", "x"] && checked.text.utf8.count < 5_000)
        #expect(checked.settings.apps[1].secrets == ["SOKETI_APP_99999_SECRET-value"])
    }

    /// 4,900 webhooks take as long as the same values elsewhere. With a search of all names for each webhook, they take a
    /// hundred times as long.
    @Test func readsManyWebhooksInLinearTime() throws {
        let webhooks = (0..<49).map { #"{"url":"https://h/\#($0)","headers":{"a":"b"},"event_types":["cache_miss","x"]}"# }
        func file(_ member: String) -> [UInt8] {
            let app = #"{"\#(member)":[\#(webhooks.joined(separator: ","))]}"#
            let apps = Array(repeating: app, count: 100).joined(separator: ",")
            return Array(#"{"appManager":{"array":{"apps":[\#(apps)]}}}"#.utf8)
        }
        let counts = try MigrationCheck.report(on: file("webhooks")).configuration.apps.map(\.webhooks.count)
        #expect(counts == Array(repeating: 10, count: 100))
        let (many, none) = (file("webhooks"), file("others"))
        func time(_ file: [UInt8]) -> Duration { ThreadTime.of { _ = try? MigrationCheck.report(on: file) } }
        let without = ThreadTime.fastest { time(none) }
        #expect(ThreadTime.isEver(below: without * 8) { time(many) }, "\(without) without webhooks")
    }

    @Test(
        "the path prefix is written if the gateway accepts it",
        arguments: [
            ("/ws", "/ws"), ("ws", "/ws"), ("/ws/v1/", "/ws/v1"), ("/", ""), ("/a b", ""), ("/../x", ""), ("/a//b", ""),
            ("/" + String(repeating: "a", count: 99), "/" + String(repeating: "a", count: 99)),
            ("/" + String(repeating: "a", count: 100), ""),
        ])
    func pathPrefix(theirs: String, ours: String) throws {
        let checked = try Checked(#"{"pathPrefix":"\#(theirs)"}"#)
        #expect(checked.settings.server.pathPrefix == ours)
        #expect(checked.says("server.path_prefix cannot be") == (ours.isEmpty && theirs != "/"))
    }

    /// Behind a proxy that removes the prefix, the gateway would take such paths for its own.
    @Test("no path of the gateway is a prefix")
    func ownPaths() throws {
        let path = #filePath.replacing("Tests/MigrationTests/SoketiFileTests.swift", with: "docs/openapi.yaml")
        let segments = Set(try TextFile.content(of: path).matches(of: /\n  (\/[a-z\-]+)[\/:]/).map { String($0.1) })
        #expect(segments.isSuperset(of: ["/api", "/apps", "/app", "/pusher", "/healthz"]))
        for segment in segments.union(["/console"]) {
            #expect(try Checked(#"{"pathPrefix":"\#(segment)"}"#).settings.server.pathPrefix == "", "\(segment)")
        }
    }

    @Test func saysWhatBecomesOfOrigins() throws {
        let none = try Checked(#"{"cors.origin":["*","https://:80","https://\#(String(repeating: "a", count: 300))"]}"#)
        #expect(none.settings.apps[0].allowedOrigins == ["*"] && none.says("no entry of cors.origin is an origin"))
        let list = (0..<101).map { "\"https://a\($0).example\"" }.joined(separator: ",")
        let many = try Checked(#"{"cors.origin":[\#(list)]}"#)
        #expect(many.settings.apps[0].allowedOrigins.count == 100 && many.says("cors.origin has more than 100 entries"))
    }
}
