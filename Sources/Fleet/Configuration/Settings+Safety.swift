// Which valid settings must not serve strangers: `serve` and `check-config` refuse them, all at once.

extension Settings {
    /// The keys whose values would let strangers in. Empty if the gateway may serve.
    ///
    /// In development only the secrets that everybody knows are refused, and only where others than this machine can
    /// connect: with them anybody could become an admin. Production has stricter rules (``productionErrors(file:)``).
    /// - Parameters:
    ///   - file: the path that errors show as the file's name.
    ///   - files: what the configuration was read from.
    package func safetyErrors(inProduction: Bool, file: String, files: [SettingsFile] = []) -> [ConfigurationError] {
        if inProduction { return productionErrors(file: file) + Self.writableFiles(files, file: file) }
        guard !server.isLoopback else { return [] }
        return secrets.filter { Self.demoSecrets.contains($0.value) }.map {
            let problem = Self.demoSecretProblem + ", and \(server.host) is not loopback"
            return ConfigurationError(file: file, key: $0.key, problem: problem)
        }
    }

    /// Secrets that the shipped configuration makes public.
    static let demoSecrets: Set = ["secret1", "development-secret-change-me-0123456789"]

    static let demoSecretProblem = "expected a secret of your own, found one that is public in the shipped configuration"

    /// The least bytes of a secret: as many as the digests have that it signs (RFC 7518 section 3.2).
    static let secretBytesMin = 32
}

extension Settings.Server {
    /// Whether only this machine can connect. A host name other than localhost may resolve to any address.
    var isLoopback: Bool { host.isLoopbackHost }

    /// The limit that production sets where ``connectionsPerIP`` is 0. It is far above what one person needs, because
    /// mobile carriers put hundreds of phones behind one address.
    package static let productionConnectionsPerIP = 1_000
    /// The limit that production sets where ``handshakesPerIPPerSecond`` is 0.
    package static let productionHandshakesPerIPPerSecond = 100

    /// Limits each address, as production does, where the configuration sets no limit.
    ///
    /// Behind a proxy that `trusted_proxies` does not name, all clients may seem to have the proxy's address, so nothing is
    /// limited there.
    package mutating func limitAddresses() {
        guard !(behindProxy || proxyProtocol) || !trustedProxies.isEmpty else { return }
        if connectionsPerIP == 0 { connectionsPerIP = Self.productionConnectionsPerIP }
        if handshakesPerIPPerSecond == 0 { handshakesPerIPPerSecond = Self.productionHandshakesPerIPPerSecond }
    }
}
