import Addresses
import FanOut
import PusherProtocol
import Testing

@testable import Access

@Suite struct LegacyTests {
    private let end: Int64 = 1_806_451_200_000  // 2027-03-31
    private func name(_ text: String) -> ChannelName { ChannelName(text, lengthMax: 200)! }

    @Test("a connection with one of the keys may subscribe until the day begins")
    func keysAndTime() {
        let legacy = Legacy(until: end, keys: ["key1", "key2"])
        for key in ["key1", "key2"] {
            #expect(legacy.permits(key: key, address: nil, at: end - 1))
            #expect(!legacy.permits(key: key, address: nil, at: end))
        }
        #expect(!legacy.permits(key: "key", address: nil, at: 0) && !legacy.permits(key: "", address: nil, at: 0))
        #expect(legacy.isOver(at: end) && !legacy.isOver(at: end - 1))
        #expect(Legacy(until: nil, keys: ["key1"]).permits(key: "key1", address: nil, at: .max))
    }

    @Test("with networks, the client's address must be known, and be in one of them")
    func networks() throws {
        let networks = try ["10.0.0.0/8", "2001:db8::/32"].map { try #require(IPNetwork($0)) }
        let legacy = Legacy(until: end, keys: ["key1"], networks: networks)
        for (address, isPermitted) in [("10.1.2.3", true), ("2001:db8::7", true), ("11.0.0.1", false), ("2001:db9::7", false)] {
            #expect(legacy.permits(key: "key1", address: IPAddress(address), at: 0) == isPermitted, "\(address)")
        }
        #expect(!legacy.permits(key: "key1", address: nil, at: 0))
    }

    @Test("only plain names of the first rule that matches, and only where they are not open anyway")
    func names() {
        let legacy = Legacy(until: end, keys: ["key1"])
        let policy = ChannelPolicy([
            .init("driver-9", .admin), .init("driver-*", .ownDriver, legacy: legacy), .init("lobby-*", .open, legacy: legacy),
        ])
        #expect(policy.legacy(of: name("driver-42"))?.pattern == "driver-*")
        for other in ["private-driver-42", "presence-driver-42", "private-encrypted-driver-42", "driver-9", "lobby-1", "x"] {
            #expect(policy.legacy(of: name(other)) == nil, "\(other)")
        }
        #expect(policy.legacyRules.map(\.pattern) == ["driver-*", "lobby-*"])
    }
}
