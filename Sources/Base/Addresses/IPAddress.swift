/// An IP address as a value of 16 bytes, in which an IPv4 address is mapped into IPv6 (`::ffff:192.0.2.1`, RFC 4291
/// section 2.5.5.2). So both families are compared and hashed alike, and a client has one address whether the listener
/// is bound to `0.0.0.0` or `::`.
package struct IPAddress: Hashable, Sendable {
    /// The first and the last eight bytes, in network order: the first byte of the address is the highest of `high`.
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// An IPv4 address. The first of its four bytes is the highest of `ipv4`.
    package init(ipv4: UInt32) { self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(ipv4)) }

    /// An address from its 4 or 16 bytes in network order; nil if the count differs.
    package init?(networkOrder bytes: UnsafeRawBufferPointer) {
        switch bytes.count {
        case 4: self.init(ipv4: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
        case 16:
            self.init(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        default: return nil
        }
    }

    /// Whether this is an IPv4 address, mapped into IPv6.
    package var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

    /// Whether the address is this machine's: 127.0.0.0/8 or ::1.
    package var isLoopback: Bool { isIPv4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }

    /// The network whose connections are counted together: an IPv4 address itself; of an IPv6 address its /64, because
    /// a single subscriber usually gets a whole /64 (RFC 6177) and could use a new address for each connection.
    package var subscriber: IPAddress { isIPv4 ? self : IPAddress(high: high, low: 0) }
}

// MARK: Text

extension IPAddress: CustomStringConvertible {
    /// Parses an address without port, brackets or zone: `192.0.2.1`, `2001:db8::1`, `::ffff:192.0.2.1` (RFC 4291
    /// section 2.2). Numbers of IPv4 addresses are decimal without leading zeros. Nil for any other text.
    package init?(text: UnsafeRawBufferPointer) {
        if text.contains(UInt8(ascii: ":")) {
            guard let groups = Self.groups(text[...]) else { return nil }
            self.init(high: Self.joined(groups[..<4]), low: Self.joined(groups[4...]))
        } else {
            guard let ipv4 = Self.ipv4(text[...]) else { return nil }
            self.init(ipv4: ipv4)
        }
    }

    /// Parses an address, as ``init(text:)-(UnsafeRawBufferPointer)`` does.
    package init?(_ text: String) {
        var text = text
        guard let address = text.withUTF8({ IPAddress(text: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = address
    }

    /// The network of the address, for people who must not learn the address: IPv4 without the last byte, of IPv6 the first
    /// 48 bits.
    package var masked: String {
        if isIPv4 { return "\(IPAddress(ipv4: UInt32(truncatingIfNeeded: low) & 0xFFFF_FF00))/24" }
        let prefix = (0..<3).map { String(UInt16(truncatingIfNeeded: high >> (48 - 16 * $0)), radix: 16) }
        return "\(prefix.joined(separator: ":"))::/48"
    }

    /// The text of the address: IPv4 in decimal, IPv6 as RFC 5952 prescribes.
    package var description: String {
        if isIPv4 { return (0..<4).map { String(low >> (24 - 8 * $0) & 0xFF) }.joined(separator: ".") }
        let groups = (0..<8).map { UInt16(truncatingIfNeeded: ($0 < 4 ? high : low) >> (48 - 16 * UInt64($0 % 4))) }
        let text = { (groups: ArraySlice<UInt16>) in groups.map { String($0, radix: 16) }.joined(separator: ":") }
        guard let zeros = Self.longestZeroRun(groups) else { return text(groups[...]) }
        return "\(text(groups[..<zeros.lowerBound]))::\(text(groups[zeros.upperBound...]))"
    }

    /// The first of the longest runs of at least two zero groups.
    private static func longestZeroRun(_ groups: [UInt16]) -> Range<Int>? {
        var longest: Range<Int>?
        var start = 0
        for index in 0...groups.count where index == groups.count || groups[index] != 0 {
            if index - start >= 2, index - start > longest?.count ?? 0 { longest = start..<index }
            start = index + 1
        }
        return longest
    }

    private static func joined(_ groups: ArraySlice<UInt16>) -> UInt64 { groups.reduce(0) { $0 << 16 | UInt64($1) } }

    /// The eight groups of an IPv6 address; nil if the text is not one.
    private static func groups(_ text: Slice<UnsafeRawBufferPointer>) -> [UInt16]? {
        var groups: [UInt16] = []
        /// The number of groups before `::`.
        var gap: Int?
        var rest = text
        if rest.starts(with: "::".utf8) {
            gap = 0
            rest = rest.dropFirst(2)
        }
        while !rest.isEmpty {
            guard groups.count < 8 else { return nil }
            let end = rest.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
            let part = rest[..<end]
            if end == rest.endIndex, part.contains(UInt8(ascii: ".")) {
                guard let ipv4 = ipv4(part) else { return nil }
                groups += [UInt16(ipv4 >> 16), UInt16(truncatingIfNeeded: ipv4)]
                break
            }
            guard let group = group(part) else { return nil }
            groups.append(group)
            guard end < rest.endIndex else { break }
            rest = rest[(end + 1)...]
            if rest.first == UInt8(ascii: ":") {
                guard gap == nil else { return nil }
                gap = groups.count
                rest = rest.dropFirst()
            } else if rest.isEmpty {
                return nil  // a single colon at the end
            }
        }
        guard let gap else { return groups.count == 8 ? groups : nil }
        guard groups.count < 8 else { return nil }  // `::` stands for at least one group
        groups.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap)
        return groups
    }

    /// One to four hexadecimal digits.
    private static func group(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt16? {
        guard (1...4).contains(digits.count) else { return nil }
        var group: UInt16 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): group = group << 4 | UInt16(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): group = group << 4 | UInt16(digit - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): group = group << 4 | UInt16(digit - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        return group
    }

    private static func ipv4(_ text: Slice<UnsafeRawBufferPointer>) -> UInt32? {
        guard text.count <= 15 else { return nil }
        var (address, dots): (UInt32, Int) = (0, 0)
        var (byte, digits): (UInt32, Int) = (0, 0)
        for character in text {
            if character == UInt8(ascii: ".") {
                guard digits > 0, dots < 3 else { return nil }
                (address, byte, digits, dots) = (address << 8 | byte, 0, 0, dots + 1)
            } else {
                // No leading zeros: some readers take such a number as octal.
                guard case let digit = character &- UInt8(ascii: "0"), digit < 10, digits == 0 || byte > 0 else { return nil }
                (byte, digits) = (byte * 10 + UInt32(digit), digits + 1)
                guard byte <= 255 else { return nil }
            }
        }
        return digits > 0 && dots == 3 ? address << 8 | byte : nil
    }
}

/// A non-negative decimal number of at most five digits, without leading zeros.
enum DecimalNumber {
    static func value(of digits: Slice<UnsafeRawBufferPointer>, max: Int) -> Int? {
        guard (1...5).contains(digits.count), digits.count == 1 || digits.first != UInt8(ascii: "0") else { return nil }
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return value <= max ? value : nil
    }
}
