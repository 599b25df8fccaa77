import Addresses

/// Why a connection is closed before its first request, although `server.proxy_protocol` is on. The raw value is a label of
/// a metric and a field of log lines.
package enum ProxyHeaderRefusal: String, CaseIterable, Sendable {
    /// The peer is none of the trusted proxies: any client could forge the header.
    case untrustedPeer = "untrusted_peer"
    /// The connection begins with something else: a load balancer that does not send the header, or a client that has got
    /// past it.
    case missing
    /// The header is of version 1, which is text.
    case version1 = "version_1"
    /// The header is of another version, or malformed.
    case invalid

    /// - Parameter bytes: what was received last. A load balancer sends the beginning of its header at once.
    init(_ failure: ProxyProtocolParser.Failure, _ bytes: UnsafeRawBufferPointer) {
        switch failure {
        case .signature: self = bytes.starts(with: "PROXY ".utf8) ? .version1 : .missing
        case .version, .command, .family, .length: self = .invalid
        }
    }
}
