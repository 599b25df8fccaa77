import Addresses

extension EventLoop {
    /// Settings that all loops share.
    package struct Options: Sendable {
        /// The largest total size of incomplete requests and messages that a loop buffers, in bytes. Above it, a
        /// request gets 503, and a WebSocket is closed with 4100.
        package let bufferedBytesMax: Int
        /// The most bytes that all outboxes of a loop may hold. Above it, the connections with the fullest ones are dropped.
        package let outboxBytesMax: Int
        /// Nil for unencrypted connections.
        package let certificates: TLSCertificates?
        /// The proxies whose header fields are trusted.
        package let proxies: TrustedProxies
        /// Whether each connection begins with a header of the PROXY protocol. Not together with `certificates`.
        package let usesProxyProtocol: Bool
        package let clientLimits: SharedAddressLimits
        /// The largest head of a request in bytes. Above it, the request gets 431.
        package let headBytesMax: Int
        /// What is removed from the paths of requests: begins with a slash; empty: nothing.
        package let pathPrefix: [UInt8]

        package init(
            bufferedBytesMax: Int, outboxBytesMax: Int, certificates: TLSCertificates?, proxies: TrustedProxies,
            usesProxyProtocol: Bool, clientLimits: SharedAddressLimits, headBytesMax: Int, pathPrefix: String = ""
        ) {
            self.bufferedBytesMax = bufferedBytesMax
            self.outboxBytesMax = outboxBytesMax
            self.certificates = certificates
            self.proxies = proxies
            self.usesProxyProtocol = usesProxyProtocol
            self.clientLimits = clientLimits
            self.headBytesMax = headBytesMax
            self.pathPrefix = Array(pathPrefix.utf8)
        }
    }
}
