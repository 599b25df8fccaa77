import Configuration

extension Settings.Server {
    /// The host as URLs write it: IPv6 addresses in brackets.
    var urlHost: String { host.contains(":") ? "[\(host)]" : host }
}
