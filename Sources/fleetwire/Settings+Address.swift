import Configuration

extension Settings.Server {
    /// The host as part of a URL: an IPv6 address is in brackets.
    var urlHost: String { host.contains(":") ? "[\(host)]" : host }
}
