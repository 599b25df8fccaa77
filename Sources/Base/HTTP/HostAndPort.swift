import Addresses

/// A host and perhaps a port: what `Host` contains (RFC 9110 section 7.2), and a part of an origin.
package struct HostAndPort: Equatable, Sendable {
    /// In lower case; an IPv6 address is in brackets.
    package let host: [UInt8]
    /// Nil if none is given.
    package let port: UInt16?

    /// No host, as in `file://`.
    static let noHost = HostAndPort(host: [], port: nil)

    private init(host: [UInt8], port: UInt16?) {
        self.host = host
        self.port = port
    }

    /// Parses `host[:port]`. Nil for any other text: an empty host, a port that is empty, 0, above 65,535 or begins with 0.
    package init?(_ text: ArraySlice<UInt8>) {
        guard let end = Self.hostEnd(text), end > text.startIndex else { return nil }
        host = text[..<end].map(\.lowercased)
        guard end < text.endIndex else {
            port = nil
            return
        }
        guard text[end] == UInt8(ascii: ":"), let port = Self.port(text[(end + 1)...]) else { return nil }
        self.port = port
    }

    /// Without a port that is the default one.
    func withoutPort(_ defaultPort: UInt16?) -> HostAndPort {
        port == defaultPort ? HostAndPort(host: host, port: nil) : self
    }

    /// Whether the host is this machine: `localhost`, or an address in 127.0.0.0/8, or `[::1]`.
    package var isLoopback: Bool {
        if host.elementsEqual("localhost".utf8) { return true }
        let isBracketed = host.first == UInt8(ascii: "[")
        let address = host.withUnsafeBytes { bytes in
            IPAddress(text: isBracketed ? UnsafeRawBufferPointer(rebasing: bytes.dropFirst().dropLast()) : bytes)
        }
        return address?.isLoopback == true && isBracketed == host.contains(UInt8(ascii: ":"))
    }

    /// The index behind the host; nil if a byte cannot be in a host.
    private static func hostEnd(_ text: ArraySlice<UInt8>) -> Int? {
        guard text.first == UInt8(ascii: "[") else {
            let end = text.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
            return text[..<end].allSatisfy(isHostByte) ? end : nil
        }
        guard let end = text.firstIndex(of: UInt8(ascii: "]")), end > text.startIndex + 1 else { return nil }
        return text[(text.startIndex + 1)..<end].allSatisfy { isHostByte($0) || $0 == UInt8(ascii: ":") } ? end + 1 : nil
    }

    /// Whether a host's name may have the byte. Bytes that are not ASCII are compared as they are.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte != 0x7F && !"/\\?#@:[]*,;\"'<>".utf8.contains(byte)
    }

    private static func port(_ digits: ArraySlice<UInt8>) -> UInt16? {
        guard (1...5).contains(digits.count), digits.first != UInt8(ascii: "0"),
            digits.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return UInt16(exactly: digits.reduce(0) { $0 * 10 + Int($1 - 0x30) })
    }
}
