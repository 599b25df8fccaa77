import Addresses

/// The parts of a PostgreSQL connection URI that decide who can read the connection (PostgreSQL documentation, section
/// 34.1.1.2 "Connection URIs").
struct DatabaseURL {
    /// The hosts, percent-decoded, without ports; none for the local socket.
    let hosts: [String]
    /// The parameters behind `?`, percent-decoded, in the order written.
    let parameters: [(name: String, value: String)]

    /// - Parameter text: a text that the rule of `store.url` has accepted.
    init(_ text: String) {
        // libpq looks for the first @ or /: before an @ stand the user and the password, whatever these contain.
        var rest = Array(text.utf8)[...]
        rest = rest.drop { $0 != UInt8(ascii: "/") }.dropFirst(2)
        if let end = rest.firstIndex(where: { "@/".utf8.contains($0) }), rest[end] == UInt8(ascii: "@") {
            rest = rest[(end + 1)...]
        }
        let question = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let servers = rest[..<question].prefix { $0 != UInt8(ascii: "/") }
        var parameters: [(name: String, value: String)] = []
        for part in rest[question...].dropFirst().split(separator: UInt8(ascii: "&")) {
            let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            parameters.append((Self.decoded(part[..<equals]), Self.decoded(part[equals...].dropFirst())))
        }
        let named = parameters.last { $0.name == "hostaddr" } ?? parameters.last { $0.name == "host" }
        let written =
            named.map { Array($0.value.utf8) }?.split(separator: UInt8(ascii: ",")).map { String(decoding: $0, as: UTF8.self) }
        hosts = written ?? servers.split(separator: UInt8(ascii: ",")).map(Self.host).filter { !$0.isEmpty }
        self.parameters = parameters
    }

    /// The value that counts of a parameter; "" without it.
    func value(_ name: String) -> String { parameters.last { $0.name == name }?.value ?? "" }

    /// Whether all hosts are this machine: a socket, or an address of the loopback.
    var isLocal: Bool {
        hosts.allSatisfy { $0.hasPrefix("/") || $0.hasPrefix("@") || $0.isLoopbackHost }
    }

    /// Whether the connection is encrypted and the server's certificate is verified.
    var isVerified: Bool { ["verify-full", "verify-ca"].contains(value("sslmode")) }

    /// The host of `host`, `host:port`, `[address]` or `[address]:port`.
    private static func host(_ server: ArraySlice<UInt8>) -> String {
        if server.first == UInt8(ascii: "[") { return decoded(server.dropFirst().prefix { $0 != UInt8(ascii: "]") }) }
        return decoded(server.prefix { $0 != UInt8(ascii: ":") })
    }

    /// Replaces each `%` and two hexadecimal digits (RFC 3986 section 2.1).
    private static func decoded(_ text: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(code)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension String {
    /// Whether a host is this machine. A host name other than localhost may resolve to any address.
    var isLoopbackHost: Bool { IPAddress(self)?.isLoopback ?? (lowercased() == "localhost") }
}
