/// The reverse proxies whose statements about their clients are believed.
package struct TrustedProxies: Equatable, Sendable {
    private let networks: [IPNetwork]

    package init(_ networks: [IPNetwork]) { self.networks = networks }

    /// No proxy is trusted: a client's address is the peer's.
    package static let none = TrustedProxies([])

    /// Proxies on this machine, in private networks (RFC 1918, RFC 4193), in carrier-grade NAT (RFC 6598, which cloud
    /// providers use internally) and on the same link.
    package static let privateNetworks = TrustedProxies(
        [
            "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "::1", "fc00::/7",
            "fe80::/10",
        ].compactMap(IPNetwork.init))

    /// Whether the address belongs to a trusted proxy.
    package func contains(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address) } }
}

/// The header fields in which proxies name their clients. A field that occurs several times is the concatenation of its
/// values with commas, in their order (RFC 9110 section 5.3). An absent field is empty.
package struct ForwardingFields {
    /// `Forwarded` (RFC 7239).
    package var forwarded = UnsafeRawBufferPointer(start: nil, count: 0)
    /// `X-Forwarded-For`.
    package var forwardedFor = UnsafeRawBufferPointer(start: nil, count: 0)
    /// `X-Forwarded-Proto`.
    package var forwardedProto = UnsafeRawBufferPointer(start: nil, count: 0)

    package init() {}
}

/// Where a request comes from, seen through the trusted proxies.
package struct ForwardedClient: Equatable, Sendable {
    /// The client's address: the one nearest to the gateway that is not a trusted proxy's. If a trusted proxy does not
    /// state its client's address, or hides it, the address of that proxy.
    package var address: IPAddress
    /// Whether the client's connection to the outermost trusted proxy uses TLS; nil if no trusted proxy says so, then
    /// the connection itself decides.
    package var isSecure: Bool?

    package init(address: IPAddress, isSecure: Bool? = nil) {
        self.address = address
        self.isSecure = isSecure
    }

    /// Follows the fields from the gateway outwards, as long as a trusted proxy wrote them. What stands further left was
    /// sent by the client and may be forged; it has no influence, even if it is malformed.
    ///
    /// `Forwarded` is read only if there is no `X-Forwarded-` field. Most proxies set only the latter and let a forged
    /// `Forwarded` pass. A proxy that sets `Forwarded` must remove its clients' `X-Forwarded-` fields.
    ///
    /// - Parameter peer: the address of the connection's other end.
    package init(peer: IPAddress, _ fields: ForwardingFields, trusting proxies: TrustedProxies) {
        self.init(address: peer)
        guard proxies.contains(peer) else { return }
        if fields.forwardedFor.isEmpty && fields.forwardedProto.isEmpty {
            follow(fields.forwarded, proxies)
        } else {
            follow(fields.forwardedFor, fields.forwardedProto, proxies)
        }
    }

    private mutating func follow(_ forwarded: UnsafeRawBufferPointer, _ proxies: TrustedProxies) {
        var rest = forwarded[...]
        while let element = rest.popLastElement(separatedBy: UInt8(ascii: ",")) {
            var node: IPAddress?
            var isSecure: Bool?
            var pairs = element
            while let pair = pairs.popLastElement(separatedBy: UInt8(ascii: ";")) {
                guard let (name, value) = pair.parameter else { continue }
                if name.isEqualIgnoringCase(to: "for") { node = value.nodeAddress }
                if name.isEqualIgnoringCase(to: "proto") { isSecure = value.isSecureScheme }
            }
            self.isSecure = isSecure ?? self.isSecure
            guard let node else { return }
            address = node
            guard proxies.contains(node) else { return }
        }
    }

    /// A proxy may append to `X-Forwarded-For` and replace `X-Forwarded-Proto`. So the latter's element for a proxy is
    /// the one as far from the right as the proxy, or the leftmost one if there are fewer.
    private mutating func follow(
        _ addresses: UnsafeRawBufferPointer, _ schemes: UnsafeRawBufferPointer, _ proxies: TrustedProxies
    ) {
        var (addresses, schemes) = (addresses[...], schemes[...])
        repeat {
            if let scheme = schemes.popLastElement(separatedBy: UInt8(ascii: ",")) { isSecure = scheme.isSecureScheme }
            guard let node = addresses.popLastElement(separatedBy: UInt8(ascii: ","))?.nodeAddress else { return }
            address = node
        } while proxies.contains(address)
    }
}

// MARK: Parsing from the right

extension Slice<UnsafeRawBufferPointer> {
    /// Removes the last element of a list, and returns it without surrounding white space. A separator inside a quoted
    /// string separates nothing. Nil if nothing is left.
    ///
    /// It reads from the right, so that an unclosed quote in an element that a client has forged does not swallow the
    /// elements that proxies have appended.
    fileprivate mutating func popLastElement(separatedBy separator: UInt8) -> Self? {
        guard !isEmpty else { return nil }
        var index = endIndex
        while index > startIndex {
            index -= 1
            if self[index] == separator {
                defer { self = self[..<index] }
                return self[(index + 1)...].trimmed
            }
            if self[index] == UInt8(ascii: "\"") { index = openingQuote(before: index) }
        }
        defer { self = self[..<startIndex] }
        return trimmed
    }

    /// The index of the quote that opens the quoted string that ends at `end`; the first index if there is none. A quote
    /// after an odd number of backslashes is part of the string.
    private func openingQuote(before end: Int) -> Int {
        var index = end
        while index > startIndex {
            index -= 1
            guard self[index] == UInt8(ascii: "\"") else { continue }
            let backslashes = self[..<index].reversed().prefix { $0 == UInt8(ascii: "\\") }.count
            if backslashes % 2 == 0 { return index }
        }
        return startIndex
    }

    /// Without white space at both ends.
    private var trimmed: Self {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var trimmed = drop(while: isSpace)
        while let last = trimmed.last, isSpace(last) { trimmed.removeLast() }
        return trimmed
    }

    /// Name and value of a `forwarded-pair` (RFC 7239 section 4). A quoted value comes without its quotes; escapes stay,
    /// because no valid address or scheme has any.
    fileprivate var parameter: (name: Self, value: Self)? {
        guard let equals = firstIndex(of: UInt8(ascii: "=")) else { return nil }
        var value = self[(equals + 1)...]
        if value.count >= 2, value.first == UInt8(ascii: "\""), value.last == UInt8(ascii: "\"") {
            value = value.dropFirst().dropLast()
        }
        return (self[..<equals], value)
    }

    /// The address of a node (RFC 7239 section 6): an address with or without a port, IPv6 also in brackets. Nil if it
    /// is `unknown`, an obfuscated identifier, or malformed.
    fileprivate var nodeAddress: IPAddress? {
        var host = self
        if first == UInt8(ascii: "[") {
            guard let end = firstIndex(of: UInt8(ascii: "]")) else { return nil }
            host = self[(startIndex + 1)..<end]
            guard end + 1 == endIndex || self[end + 1] == UInt8(ascii: ":") else { return nil }
        } else if let colon = firstIndex(of: UInt8(ascii: ":")), lastIndex(of: UInt8(ascii: ":")) == colon {
            host = self[..<colon]  // a single colon: IPv4 with a port
        }
        return IPAddress(text: UnsafeRawBufferPointer(rebasing: host))
    }

    fileprivate var isSecureScheme: Bool { isEqualIgnoringCase(to: "https") || isEqualIgnoringCase(to: "wss") }

    /// - Parameter name: lower-case ASCII letters.
    fileprivate func isEqualIgnoringCase(to name: StaticString) -> Bool {
        count == name.utf8CodeUnitCount
            && zip(self, UnsafeBufferPointer(start: name.utf8Start, count: count)).allSatisfy { $0 | 0x20 == $1 }
    }
}
