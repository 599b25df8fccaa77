import Glibc

/// The IP address of a server that a request is about to be sent to.
///
/// An untrusted URL must not cause requests to the gateway's own network (SSRF). So the address is checked rather than
/// the host's name, which may resolve to any address, and to another one the next time.
struct PeerAddress: Equatable, CustomStringConvertible {
    /// The 4 bytes of an IPv4 address or the 16 of an IPv6 address, in network order.
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        precondition(bytes.count == 4 || bytes.count == 16, "PeerAddress got \(bytes.count) bytes instead of 4 or 16")
        self.bytes = bytes
    }

    /// Nil if the text is not a numeric address.
    init?(text: UnsafePointer<CChar>) {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.init(Array(bytes.prefix(4)))
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.init(bytes)
        } else {
            return nil
        }
    }

    /// Nil if the socket address is neither IPv4 nor IPv6, or is truncated.
    init?(socketAddress: UnsafeRawBufferPointer) {
        guard socketAddress.count >= MemoryLayout<sa_family_t>.size else { return nil }
        let address: Range<Int>
        switch Int32(socketAddress.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET: address = 4..<8  // after the family and the port
        case AF_INET6: address = 8..<24  // after the family, the port and the flow label
        default: return nil
        }
        guard socketAddress.count >= address.upperBound else { return nil }
        self.init(Array(socketAddress[address]))
    }

    /// Whether the address is public: not loopback, private, link-local, multicast or otherwise reserved (the
    /// registries of RFC 6890). An IPv4 address embedded in an IPv6 address is checked as IPv4.
    var isPublic: Bool {
        guard bytes.count == 16 else { return Self.reservedIPv4.allSatisfy { !$0.contains(bytes) } }
        if let prefix = Self.prefixesOfIPv4.first(where: { $0.contains(bytes) }) {
            return PeerAddress(Array(bytes[prefix.bytes.count..<prefix.bytes.count + 4])).isPublic
        }
        return Self.reservedIPv6.allSatisfy { !$0.contains(bytes) }
    }

    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension PeerAddress {
    /// A range of addresses with a common prefix.
    private struct Block {
        /// The prefix in whole bytes; the last one is padded with zero bits.
        let bytes: [UInt8]
        /// The length of the prefix in bits.
        let bits: Int

        init(_ bytes: [UInt8], _ bits: Int) {
            self.bytes = bytes
            self.bits = bits
        }

        func contains(_ address: [UInt8]) -> Bool {
            let (whole, rest) = (bits / 8, bits % 8)
            guard address.prefix(whole).elementsEqual(bytes.prefix(whole)) else { return false }
            return rest == 0 || (address[whole] ^ bytes[whole]) >> (8 - rest) == 0
        }
    }

    private static let reservedIPv4 = [
        Block([0], 8),  // this network; 0.0.0.0 is this machine
        Block([10], 8), Block([172, 16], 12), Block([192, 168], 16),  // private
        Block([100, 64], 10),  // carrier-grade NAT
        Block([127], 8),  // this machine
        Block([169, 254], 16),  // link-local, and cloud metadata
        Block([192, 0, 0], 24), Block([192, 88, 99], 24),  // IETF protocols; 6to4 relays (deprecated)
        Block([192, 0, 2], 24), Block([198, 51, 100], 24), Block([203, 0, 113], 24),  // documentation
        Block([198, 18], 15),  // network benchmarks
        Block([224], 4), Block([240], 4),  // multicast; reserved and broadcast
    ]

    private static let reservedIPv6 = [
        Block([UInt8](repeating: 0, count: 12), 96),  // :: and ::1, and IPv4-compatible (deprecated)
        Block([0x00, 0x64, 0xFF, 0x9B, 0x00, 0x01], 48),  // local-use NAT64
        Block([0x20, 0x01, 0x00, 0x00], 32), Block([0x20, 0x02], 16),  // Teredo and 6to4: tunnels to any IPv4 address
        Block([0x01, 0, 0, 0, 0, 0, 0, 0], 64),  // discard-only
        Block([0x20, 0x01, 0x0D, 0xB8], 32), Block([0x3F, 0xFF, 0x00], 20),  // documentation
        Block([0xFC], 7),  // private
        Block([0xFE, 0x80], 10), Block([0xFE, 0xC0], 10),  // link-local; site-local (deprecated)
        Block([0xFF], 8),  // multicast
    ]

    /// IPv6 prefixes that are followed by an IPv4 address.
    private static let prefixesOfIPv4 = [
        Block([UInt8](repeating: 0, count: 10) + [0xFF, 0xFF], 96),  // ::ffff:0:0
        Block([0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 96),  // 64:ff9b::, NAT64
    ]
}
