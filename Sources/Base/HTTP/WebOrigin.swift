/// The origin of a web page: scheme, host and port (RFC 6454 section 4).
///
/// The default port of a scheme equals none: browsers leave it out (RFC 6454 section 6.2), but other clients send the port of
/// their URL, such as React Native on Android. Some clients send a slash at the end, which is ignored.
package struct WebOrigin: Equatable, Sendable {
    /// In lower case.
    package let scheme: [UInt8]
    package let authority: HostAndPort

    /// - Parameter text: `scheme://host[:port]`, perhaps with a slash at the end; or `file://`, the origin that some WebViews
    ///   and microcontrollers send. Nil for any other text, such as `null`.
    package init?(_ text: String) { self.init(Array(text.utf8)) }

    init?(_ bytes: [UInt8]) {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), Self.isScheme(bytes[..<colon]),
            bytes[colon...].starts(with: "://".utf8)
        else { return nil }
        var rest = bytes[(colon + 3)...]
        if rest.last == UInt8(ascii: "/") { rest.removeLast() }
        let scheme = bytes[..<colon].map(\.lowercased)
        guard let authority = rest.isEmpty && scheme.elementsEqual("file".utf8) ? HostAndPort.noHost : HostAndPort(rest) else {
            return nil
        }
        self.scheme = scheme
        self.authority = authority.withoutPort(Self.defaultPort(of: scheme))
    }

    /// Whether pages of this origin are not protected by TLS, so that who controls the network can change them.
    package var isPlain: Bool { scheme.elementsEqual("http".utf8) || scheme.elementsEqual("ws".utf8) }

    /// Whether this is the origin of pages of the server that a request is for.
    /// - Parameter host: the value of `Host`.
    func isOfServer(_ host: String) -> Bool {
        guard isPlain || scheme.elementsEqual("https".utf8) || scheme.elementsEqual("wss".utf8),
            let host = HostAndPort(Array(host.utf8)[...])
        else { return false }
        return authority == host.withoutPort(Self.defaultPort(of: scheme))
    }

    private static func defaultPort(of scheme: [UInt8]) -> UInt16? {
        if scheme.elementsEqual("https".utf8) || scheme.elementsEqual("wss".utf8) { return 443 }
        return scheme.elementsEqual("http".utf8) || scheme.elementsEqual("ws".utf8) ? 80 : nil
    }

    /// RFC 3986 section 3.1.
    private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let first = bytes.first, (0x61...0x7A).contains(first.lowercased) else { return false }
        return bytes.allSatisfy {
            (0x61...0x7A).contains($0.lowercased) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0)
        }
    }
}

extension UInt8 {
    /// The byte; an ASCII letter in lower case.
    var lowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}
