import Testing

@testable import Realtime

/// What the library refuses at its start.
@Suite struct RealtimeConfigurationTests {
    private static func configuration(_ change: (inout RealtimeConfiguration) -> Void = { _ in }) -> RealtimeConfiguration {
        var configuration = RealtimeConfiguration()
        configuration.apps = [RealtimeConfiguration.App(id: "1", key: "k", secret: "s")]
        change(&configuration)
        return configuration
    }

    @Test func anAppIsEnough() {
        #expect(Self.configuration().problem == nil)
    }

    @Test func whatCannotBeMeantIsNamed() {
        var webhook = RealtimeConfiguration.Webhook(url: "https://a")
        webhook.events = ["channel_occupid"]
        let problems = [
            Self.configuration { $0.apps = [] }, Self.configuration { $0.apps.append($0.apps[0]) },
            Self.configuration { $0.server.port = 70_000 }, Self.configuration { $0.apps[0].secrets = [""] },
            Self.configuration { $0.apps[0].encryptionMasterKey = "short" },
            Self.configuration { $0.apps[0].webhooks = [webhook] },
            Self.configuration { $0.apps[0].webhooks = Array(repeating: .init(url: "https://a"), count: 11) },
            Self.configuration {
                $0.server.proxyProtocol = true
                $0.server.tls = [.init(certificate: "c", key: "k")]
            },
        ].map(\.problem)
        #expect(problems.allSatisfy { $0 != nil } && Set(problems).count == problems.count)
    }
}
