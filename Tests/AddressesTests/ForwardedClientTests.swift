import Addresses
import TestSupport
import Testing

@Suite struct ForwardedClientTests {
    /// The client that is seen through trusted proxies in 10.0.0.0/8 and 2001:db8:1::/48.
    private func client(
        _ peer: String = "10.0.0.1", forwarded: String = "", for addresses: String = "", proto: String = ""
    ) throws -> ForwardedClient {
        let proxies = TrustedProxies(["10.0.0.0/8", "2001:db8:1::/48"].compactMap { IPNetwork($0) })
        return try client(peer, forwarded: Array(forwarded.utf8), for: Array(addresses.utf8), proto: Array(proto.utf8), proxies)
    }

    private func client(
        _ peer: String, forwarded: [UInt8], for addresses: [UInt8], proto: [UInt8], _ proxies: TrustedProxies
    ) throws -> ForwardedClient {
        let peer = try #require(IPAddress(peer))
        return forwarded.withUnsafeBytes { forwarded in
            addresses.withUnsafeBytes { addresses in
                proto.withUnsafeBytes { proto in
                    var fields = ForwardingFields()
                    fields.forwarded = forwarded
                    fields.forwardedFor = addresses
                    fields.forwardedProto = proto
                    return ForwardedClient(peer: peer, fields, trusting: proxies)
                }
            }
        }
    }

    private func expected(_ address: String, _ isSecure: Bool? = nil) throws -> ForwardedClient {
        ForwardedClient(address: try #require(IPAddress(address)), isSecure: isSecure)
    }

    @Test func withoutFieldsThePeerIsTheClient() throws {
        #expect(try client("203.0.113.7") == expected("203.0.113.7"))
        #expect(try client("10.0.0.1") == expected("10.0.0.1"))
    }

    @Test func believesNoFieldOfAPeerThatIsNotTrusted() throws {
        #expect(try client("203.0.113.7", for: "127.0.0.1", proto: "https") == expected("203.0.113.7"))
        #expect(try client("203.0.113.7", forwarded: "for=127.0.0.1;proto=https") == expected("203.0.113.7"))
    }

    @Test(arguments: [
        ("198.51.100.1", "198.51.100.1"), ("198.51.100.1:4711", "198.51.100.1"), ("2001:db8::7", "2001:db8::7"),
        ("[2001:db8::7]", "2001:db8::7"), ("[2001:db8::7]:4711", "2001:db8::7"), (" \t198.51.100.1 \t", "198.51.100.1"),
        // Through two and three proxies.
        ("198.51.100.1, 10.0.0.2", "198.51.100.1"), ("198.51.100.1,2001:db8:1::5 , 10.0.0.2", "198.51.100.1"),
        // What stands left of the client is its own invention.
        ("127.0.0.1, 198.51.100.1", "198.51.100.1"), ("10.0.0.9, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
        ("\"x, 198.51.100.1", "198.51.100.1"), (",,,198.51.100.1", "198.51.100.1"),
        // All are proxies: the outermost.
        ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
        // A proxy does not know its client: the proxy.
        ("unknown", "10.0.0.1"), ("198.51.100.1, unknown", "10.0.0.1"), ("198.51.100.1, unknown, 10.0.0.2", "10.0.0.2"),
        ("198.51.100.1,", "10.0.0.1"), ("[2001:db8::7", "10.0.0.1"), ("[2001:db8::7]x", "10.0.0.1"), ("1.2.3", "10.0.0.1"),
    ]) func followsXForwardedForFromTheRight(field: String, address: String) throws {
        #expect(try client(for: field) == expected(address))
    }

    @Test(arguments: [
        ("", "https", true), ("", "http", false), ("", "HTTPS", true), ("", "wss", true), ("", "ws", false),
        ("", "gopher", false),
        ("198.51.100.1", "https", true),
        // Both proxies append: the outer one's element counts (m10: `https, http` is secure).
        ("198.51.100.1, 10.0.0.2", "https, http", true), ("198.51.100.1, 10.0.0.2", "http, https", false),
        // The inner proxy replaces the field, or leaves it as it is.
        ("198.51.100.1, 10.0.0.2", "https", true),
        // The client has sent the field, and the proxy appends.
        ("198.51.100.1", "https, http", false), ("7.7.7.7, 198.51.100.1", "https, http", false), ("", "https, http", false),
    ]) func theOutermostTrustedProxyStatesTheScheme(addresses: String, proto: String, isSecure: Bool) throws {
        #expect(try client(for: addresses, proto: proto).isSecure == isSecure)
    }

    @Test(
        arguments: [
            ("for=198.51.100.1", "198.51.100.1", nil), ("For=\"198.51.100.1:4711\";Proto=HTTPS", "198.51.100.1", true),
            ("proto=http;for=\"[2001:db8::7]:4711\";by=10.0.0.1", "2001:db8::7", false),
            ("for=\"[2001:db8::7]\"", "2001:db8::7", nil), ("for=198.51.100.1;host=\"a,b;c\"", "198.51.100.1", nil),
            ("for=198.51.100.1;proto=https, for=10.0.0.2;proto=http", "198.51.100.1", true),
            ("for=198.51.100.1;proto=https, for=10.0.0.2", "198.51.100.1", true),
            ("for=127.0.0.1;proto=https, for=198.51.100.1;proto=http", "198.51.100.1", false),
            ("for=_hidden;proto=https", "10.0.0.1", true), ("for=unknown, for=10.0.0.2", "10.0.0.2", nil),
            ("proto=https", "10.0.0.1", true), ("for=\"198.51.100.1\\\"\"", "10.0.0.1", nil), ("nonsense", "10.0.0.1", nil),
            // An unclosed quote that the client has sent.
            ("for=\"x, for=198.51.100.1;proto=https", "198.51.100.1", true),
            ("for=x\\\", for=\"198.51.100.1\";proto=https", "198.51.100.1", true),
            ("for=\"a\\\"\", for=\"198.51.100.1\"", "198.51.100.1", nil),
        ] as [(String, String, Bool?)]) func followsForwardedFromTheRight(field: String, address: String, isSecure: Bool?) throws
    {
        #expect(try client(forwarded: field) == expected(address, isSecure))
    }

    @Test func readsForwardedOnlyWithoutXForwardedFields() throws {
        #expect(try client(forwarded: "for=1.1.1.1;proto=https", for: "2.2.2.2") == expected("2.2.2.2"))
        #expect(try client(forwarded: "for=1.1.1.1;proto=https", proto: "http") == expected("10.0.0.1", false))
    }

    /// Whatever a client sends in front: the result is what the proxies' own elements say.
    @Test(arguments: 0..<200) func noPrefixChangesWhatProxiesAppended(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let proxies = TrustedProxies([try #require(IPNetwork("10.0.0.0/8"))])
        for _ in 0..<50 {
            let bytes = Array("for=proto\"\\,; \t[]:.10a_".utf8) + [0, 0x80, 0xFF]
            let forged = (0..<random.below(40)).map { _ in bytes[random.below(bytes.count)] }
            let client = try client(
                "10.0.0.1", forwarded: forged + Array(", for=\"198.51.100.1:1\";proto=https, for=10.0.0.2".utf8), for: [],
                proto: [],
                proxies)
            #expect(try client == expected("198.51.100.1", true), "\(forged)")
            let other = try self.client(
                "10.0.0.1", forwarded: [], for: forged + Array(",198.51.100.1, 10.0.0.2".utf8),
                proto: forged + Array(",http, https".utf8), proxies)
            #expect(try other == expected("198.51.100.1", false), "\(forged)")
        }
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("10.9.8.7", true), ("172.31.0.1", true), ("172.32.0.1", false), ("192.168.1.1", true),
        ("100.64.0.1", true), ("169.254.1.1", true), ("::1", true), ("fd00::1", true), ("fe80::1", true), ("203.0.113.7", false),
        ("2001:db8::1", false), ("::ffff:10.0.0.1", true),
    ]) func privateNetworksAreThoseOfThisMachineAndThisSite(address: String, isTrusted: Bool) throws {
        #expect(TrustedProxies.privateNetworks.contains(try #require(IPAddress(address))) == isTrusted)
        #expect(!TrustedProxies.none.contains(try #require(IPAddress(address))))
    }
}
