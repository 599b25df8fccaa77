import Configuration

extension Settings.Server {
    /// The host as part of a URL: an IPv6 address is in brackets.
    var urlHost: String { host.contains(":") ? "[\(host)]" : host }

    /// The gateway's URL, with `https` or `wss` if it uses TLS.
    /// - Parameter scheme: `http` or `ws`.
    func url(_ scheme: String) -> String { "\(scheme)\(tls.isEmpty ? "" : "s")://\(urlHost):\(port)" }
}
