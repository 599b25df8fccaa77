import Addresses
import Glibc

/// Where the gateway is: a URL, resolved.
package struct GatewayAddress {
    /// Why a URL cannot be used.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The URL as it was given, without a slash at its end.
    package let url: String
    package let usesTLS: Bool
    /// The host: a name or an address, without brackets.
    package let host: String
    let port: UInt16
    /// The value of the field `Host`.
    let authority: String
    /// The socket address: a `sockaddr_in` or `sockaddr_in6`.
    let socketAddress: [UInt8]
    let family: Int32
    package let address: IPAddress

    /// - Parameter url: `ws://` or `wss://` (or `http://`, `https://`), a host, and optionally a port.
    package init(_ url: String) throws(Failure) {
        let parts = try Self.parts(of: url.utf8.last == UInt8(ascii: "/") ? String(url.dropLast()) : url)
        (self.url, usesTLS, host, port) = parts
        authority = self.url.split(separator: "/").last.map(String.init) ?? host
        (socketAddress, family) = try Self.resolve(host, port)
        let bytes = socketAddress[family == AF_INET ? 4..<8 : 8..<24]
        guard let address = bytes.withUnsafeBytes({ IPAddress(networkOrder: $0) }) else {
            throw Failure(description: "\(host) has no IP address")
        }
        self.address = address
    }

    /// Whether the address belongs to this machine, or to a private network (or a similar one, such as carrier-grade
    /// NAT): a load test there is unlikely to reach another operator's server.
    package var isPrivate: Bool {
        TrustedProxies.privateNetworks.contains(address) || address == IPAddress("0.0.0.0") || address == IPAddress("::")
    }

    private static func parts(of url: String) throws(Failure) -> (url: String, usesTLS: Bool, host: String, port: UInt16) {
        let failure = Failure(description: "expected a URL such as ws://127.0.0.1:6001 or wss://example.com, found \(url)")
        guard let scheme = ["ws", "http", "wss", "https"].first(where: { url.hasPrefix($0 + "://") }) else { throw failure }
        let usesTLS = scheme == "wss" || scheme == "https"
        let authority = url.dropFirst(scheme.count + 3)
        guard !authority.isEmpty, authority.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !"/?#@".utf8.contains($0) }) else {
            throw failure
        }
        var (host, rest) = (authority, Substring())
        if authority.first == "[" {
            guard let bracket = authority.firstIndex(of: "]") else { throw failure }
            host = authority[authority.index(after: authority.startIndex)..<bracket]
            rest = authority[authority.index(after: bracket)...]
        } else if let colon = authority.firstIndex(of: ":") {
            (host, rest) = (authority[..<colon], authority[colon...])
        }
        guard !host.isEmpty else { throw failure }
        if rest.isEmpty { return (url, usesTLS, String(host), usesTLS ? 443 : 80) }
        guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0 else { throw failure }
        return (url, usesTLS, String(host), port)
    }

    /// The first address of the host.
    private static func resolve(_ host: String, _ port: UInt16) throws(Failure) -> ([UInt8], Int32) {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = Int32(AI_NUMERICSERV)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, String(port), &hints, &list)
        defer { if list != nil { freeaddrinfo(list) } }
        guard result == 0, let found = list?.pointee, let address = found.ai_addr else {
            throw Failure(description: "cannot resolve \(host): \(String(cString: gai_strerror(result)))")
        }
        return (Array(UnsafeRawBufferPointer(start: address, count: Int(found.ai_addrlen))), found.ai_family)
    }
}
