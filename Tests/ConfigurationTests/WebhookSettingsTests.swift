import Testing

@testable import Configuration

@Suite struct WebhookSettingsTests {
    typealias Case = ConfigurationErrorTests.Case

    private static func app(_ webhooks: String) -> String {
        "apps: [{id: a, key: b, secret: c, webhooks: \(webhooks)}]"
    }

    private func webhooks(_ list: String, _ environment: [String: String] = [:]) throws -> [Settings.Webhook] {
        try read(Self.app(list), environment).get().apps[0].webhooks
    }

    @Test("An app's webhooks keep the order of their list")
    func list() throws {
        #expect(Settings().apps[0].webhooks == [])
        #expect(try webhooks("[]") == [])
        var second = Settings.Webhook(url: "http://10.0.0.1:8080/w?a=b")
        second.events = ["channel_vacated", "device_removed"]
        second.batch = true
        second.allowPrivate = true
        let list = """
            [{url: https://a, events: []},
             {url: "http://10.0.0.1:8080/w?a=b", events: [channel_vacated, device_removed], batch: true, allow_private: true}]
            """
        #expect(try webhooks(list) == [Settings.Webhook(url: "https://a"), second])
    }

    static let names = [
        "channel_occupied", "channel_vacated", "member_added", "member_removed", "client_event", "cache_miss",
        "subscription_count", "notification_failed", "device_removed",
    ]

    @Test("Every event name is accepted", arguments: names)
    func event(event: String) throws {
        #expect(try webhooks("[{url: https://a, events: [\(event)]}]")[0].events == [event])
    }

    @Test("An app has at most ten webhooks")
    func count() throws {
        func list(_ count: Int) -> String { "[" + (0..<count).map { "{url: https://a/\($0)}" }.joined(separator: ",") + "]" }
        #expect(try webhooks(list(10)).count == 10)
        #expect(
            problems(Self.app(list(11)))
                == ["c.yaml:1: apps[0].webhooks: expected a list of at most 10 maps, found a list of 11"])
    }

    @Test("A webhook's URL can contain references")
    func substituted() throws {
        #expect(try webhooks("[{url: 'https://a/${TOKEN}'}]", ["TOKEN": "hunter2"])[0].url == "https://a/hunter2")
    }

    static let url = "expected an http or https URL without user info and fragment"
    static let events = "expected \(names.dropLast().joined(separator: ", ")) or device_removed"

    @Test(
        "An error names its location and does not show the URL",
        arguments: [
            Case("~", "webhooks: expected a list of maps, found nothing"),
            Case("https://a", "webhooks: expected a list of maps, found a string"),
            Case("[https://a]", "webhooks[0]: expected a map, found a string"),
            Case("[{batch: true}]", "webhooks[0].url: \(url), found nothing"),
            Case("[{url: ''}]", "webhooks[0].url: \(url), found \"\""),
            Case("[{url: 'https://u:hunter2@a'}]", "webhooks[0].url: \(url), found a value of 19 characters"),
            Case("[{url: https://a, events: ~}]", "webhooks[0].events: expected a list of strings, found nothing"),
            Case("[{url: https://a, events: client_event}]", "webhooks[0].events: expected a list of strings, found a string"),
            Case(
                "[{url: https://a, events: [client_event, clientEvent]}]",
                "webhooks[0].events[1]: \(events), found \"clientEvent\""),
            Case("[{url: https://a, batch: 1}]", "webhooks[0].batch: expected true or false, found \"1\""),
            Case(
                "[{url: https://a, allowprivate: true}]",
                "webhooks[0].allowprivate: unknown key; did you mean apps[0].webhooks[0].allow_private?"),
        ])
    func error(_ example: Case) {
        #expect(problems(Self.app(example.yaml)) == example.lines.map { "c.yaml:1: apps[0].\($0)" })
    }

    @Test("No variable overrides the list of webhooks")
    func variable() {
        #expect(
            problems("", ["FLEETWIRE_APPS_0_WEBHOOKS": "x"])
                == ["FLEETWIRE_APPS_0_WEBHOOKS: unknown variable; apps is a list, which only the file can set"])
    }
}
