import Addresses
import Testing

@testable import Realtime

@Suite struct TrustedProxiesMappingTests {
    /// Which of these addresses are trusted: loopback, private, listed, public.
    private func trusted(behindProxy: Bool = false, proxyProtocol: Bool = false, listed: [String] = []) -> [String] {
        var server = RealtimeConfiguration.Server()
        (server.behindProxy, server.proxyProtocol, server.trustedProxies) = (behindProxy, proxyProtocol, listed)
        let proxies = TrustedProxies(server)
        return ["127.0.0.1", "10.1.2.3", "198.51.100.7", "203.0.113.1"].filter {
            IPAddress($0).map(proxies.contains) ?? false
        }
    }

    @Test func trustsNobodyByDefault() {
        #expect(trusted() == [])
    }

    @Test func behindAProxyTrustsLoopbackAndPrivateNetworks() {
        #expect(trusted(behindProxy: true) == ["127.0.0.1", "10.1.2.3"])
        #expect(trusted(proxyProtocol: true) == ["127.0.0.1", "10.1.2.3"])
    }

    @Test func trustsOnlyListedProxiesIfThereAreAny() {
        #expect(trusted(behindProxy: true, listed: ["198.51.100.0/24"]) == ["198.51.100.7"])
        #expect(trusted(listed: ["198.51.100.7", "10.0.0.0/8"]) == ["10.1.2.3", "198.51.100.7"])
    }
}
