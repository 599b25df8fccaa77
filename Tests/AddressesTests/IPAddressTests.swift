import Addresses
import Glibc
import TestSupport
import Testing

@Suite struct IPAddressTests {
    /// The C library's opinion on a text: the bytes of the address, IPv4 mapped into IPv6.
    private func bytesOfTheCLibrary(_ text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            return [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + bytes.prefix(4)
        }
        return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }

    private func bytes(_ address: IPAddress) -> [UInt8] {
        withUnsafeBytes(of: address.high.bigEndian, Array.init) + withUnsafeBytes(of: address.low.bigEndian, Array.init)
    }

    static let texts = [
        "0.0.0.0", "127.0.0.1", "255.255.255.255", "192.0.2.1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.04",
        "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4 ", " 1.2.3.4", "+1.2.3.4", "1.2.3.-4", "0x1.2.3.4", "1.2.3.4a", "", ".", ":", "::",
        ":::", "::1", "1::", "1::2", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8",
        "1:2:3:4::5:6:7:8", "1::2::3", "::ffff:192.0.2.1", "::192.0.2.1", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4",
        "1:2:3:4:5:1.2.3.4", "::1.2.3", "::1.2.3.4:5", "1.2.3.4::", "2001:DB8::aBcD", "12345::", "::g", "fe80::1%eth0", "1:",
        "1:2:",
        ":1", "::1:", "1:::2", "[::1]", "::0001", "::00001", "unknown", "é", "1.2.3.4\0", "1:2:3:4:5:6::1.2.3.4", "::1.2.3.4",
    ]

    @Test(arguments: texts) func readsWhatTheCLibraryReads(text: String) {
        // A C string ends at a NUL, which is no part of an address here.
        let expected = text.utf8.contains(0) ? nil : bytesOfTheCLibrary(text)
        #expect(IPAddress(text).map(bytes) == expected)
    }

    /// Texts that differ from valid ones in few bytes.
    @Test(arguments: 0..<200) func readsWhatTheCLibraryReadsOfMutations(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let alphabet = Array("0123456789abcdefF.::::%x ".utf8)
        for _ in 0..<200 {
            let picked = random.pick(Self.texts)
            var text = Array(try #require(picked).utf8)
            for _ in 0..<random.within(1...3) {
                let byte = alphabet[random.below(alphabet.count)]
                let index = random.within(0...text.count)
                if index < text.count, random.chance(percent: 50) { text[index] = byte } else { text.insert(byte, at: index) }
            }
            let string = String(decoding: text, as: UTF8.self)
            guard !text.contains(0) else { continue }
            #expect(IPAddress(string).map(bytes) == bytesOfTheCLibrary(string), "\(string)")
        }
    }

    @Test(arguments: 0..<50) func writesTheTextThatReadsBack(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        for _ in 0..<50 {
            let groups = (0..<8).map { _ in random.chance(percent: 60) ? 0 : random.next() & 0xFFFF }
            let address = IPAddress(
                high: groups[..<4].reduce(0) { $0 << 16 | $1 },
                low: random.chance(percent: 20)
                    ? 0xFFFF_0000_0000 | random.next() >> 32 : groups[4...].reduce(0) { $0 << 16 | $1 })
            #expect(IPAddress(address.description) == address, "\(address)")
        }
    }

    @Test(arguments: [
        ("::ffff:192.0.2.1", "192.0.2.1"), ("2001:0DB8:0:0:0:0:0:1", "2001:db8::1"), ("::", "::"), ("::1", "::1"),
        ("1::", "1::"), ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("1:0:0:2:3:0:0:4", "1::2:3:0:0:4"),
        ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"),
    ]) func writesIPv6AsRFC5952Prescribes(text: String, canonical: String) {
        #expect(IPAddress(text)?.description == canonical)
    }

    @Test func readsNetworkOrder() {
        let read = { (bytes: [UInt8]) in bytes.withUnsafeBytes { IPAddress(networkOrder: $0) } }
        #expect(read([192, 0, 2, 1]) == IPAddress("192.0.2.1"))
        #expect(read([0x20, 0x01] + [UInt8](repeating: 0, count: 13) + [7]) == IPAddress("2001::7"))
        for count in [0, 3, 5, 15, 17] { #expect(read([UInt8](repeating: 1, count: count)) == nil) }
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.255.0.9", true), ("::1", true), ("::ffff:127.0.0.1", true), ("128.0.0.1", false),
        ("126.0.0.1", false), ("::2", false), ("1::1", false), ("::7f00:1", false),
    ]) func knowsLoopback(text: String, isLoopback: Bool) {
        #expect(IPAddress(text)?.isLoopback == isLoopback)
    }
}
