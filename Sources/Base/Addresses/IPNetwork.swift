/// A range of addresses with a common prefix (CIDR, RFC 4632).
package struct IPNetwork: Hashable, Sendable {
    private let address: IPAddress
    /// The length of the prefix in bits of the 16-byte form (0–128): 96 more than as written for IPv4.
    private let prefixBits: Int

    /// Parses an address, or an address, a slash and the length of the prefix in bits: `10.0.0.0/8`, `2001:db8::/32`,
    /// `192.0.2.1`. Nil for other texts, and if a bit after the prefix is set, because then the address or the length is
    /// probably a typing error.
    package init?(_ text: String) {
        var text = text
        guard let network = text.withUTF8({ Self(text: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = network
    }

    private init?(text: UnsafeRawBufferPointer) {
        let slash = text.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
        guard let address = IPAddress(text: UnsafeRawBufferPointer(rebasing: text[..<slash])) else { return nil }
        // The text decides, not the value: ::ffff:10.0.0.0/104 is written as IPv6.
        let isIPv6 = text[..<slash].contains(UInt8(ascii: ":"))
        var bits = isIPv6 ? 128 : 32
        if slash < text.endIndex {
            guard let written = DecimalNumber.value(of: text[(slash + 1)...], max: bits) else { return nil }
            bits = written
        }
        self.address = address
        prefixBits = isIPv6 ? bits : bits + 96
        guard address.high & ~masks.high == 0, address.low & ~masks.low == 0 else { return nil }
    }

    /// Whether the address is in the network. A network of IPv6 addresses, such as ::/0, contains no IPv4 address.
    package func contains(_ address: IPAddress) -> Bool {
        address.isIPv4 == self.address.isIPv4 && address.high & masks.high == self.address.high
            && address.low & masks.low == self.address.low
    }

    /// The bits of the prefix. A shift of a `UInt64` by 64 or more gives 0.
    private var masks: (high: UInt64, low: UInt64) {
        (~(UInt64.max >> min(prefixBits, 64)), ~(UInt64.max >> max(0, prefixBits - 64)))
    }
}
