import Addresses
import TestSupport
import Testing

@Suite struct IPNetworkTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.255.255", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.0.0.0/8", "::ffff:10.1.2.3", true),
        ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.6", false), ("192.0.2.6/31", "192.0.2.7", true),
        ("192.0.2.6/31", "192.0.2.8", false), ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "2001:db8::1", false),
        ("::/0", "2001:db8::1", true), ("::/0", "203.0.113.9", false), ("2001:db8::/32", "2001:db8:ffff::1", true),
        ("2001:db8::/32", "2001:db9::", false), ("2001:db8::/64", "2001:db8:0:0:ffff::", true),
        ("2001:db8::/64", "2001:db8:0:1::", false), ("2001:db8::8/125", "2001:db8::f", true),
        ("2001:db8::8/125", "2001:db8::10", false), ("::1", "::1", true), ("::1/128", "::2", false),
        ("::ffff:10.0.0.0/104", "10.2.3.4", true), ("::ffff:10.0.0.0/104", "11.2.3.4", false),
    ]) func containsTheAddressesWithItsPrefix(network: String, address: String, isInside: Bool) throws {
        let address = try #require(IPAddress(address))
        #expect(try #require(IPNetwork(network)).contains(address) == isInside)
    }

    @Test(arguments: [
        "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8/8", "10.0.0.1/8", "::1/127", "::/129",
        "localhost", "10.0.0.0/8 ", "10/8", "2001:db8::/32x", "[::1]", "10.0.0.0/99999999999999999999",
    ]) func rejectsOtherTexts(text: String) {
        #expect(IPNetwork(text) == nil)
    }

    /// Compares with the definition, bit by bit.
    @Test(arguments: 0..<50) func comparesExactlyThePrefix(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        for _ in 0..<50 {
            let bits = random.within(0...32)
            let base = UInt32(truncatingIfNeeded: random.next()) & (bits == 0 ? 0 : ~0 << (32 - UInt32(bits)))
            let network = try #require(IPNetwork("\(IPAddress(ipv4: base))/\(bits)"))
            let flipped = random.within(0...31)
            let other = IPAddress(ipv4: base ^ 1 << (31 - UInt32(flipped)))
            #expect(network.contains(IPAddress(ipv4: base)))
            #expect(network.contains(other) == (flipped >= bits), "\(base)/\(bits), bit \(flipped)")
        }
    }
}
