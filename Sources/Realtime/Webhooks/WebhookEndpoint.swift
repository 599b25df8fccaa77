import PusherProtocol

/// A webhook endpoint: an entry of an application's `webhooks` in the configuration.
package struct WebhookEndpoint: Sendable {
    /// The application's index in the configuration.
    package let appIndex: Int
    /// The application's key, sent as `X-Pusher-Key`.
    package let key: String
    /// The application's first secret, which signs requests.
    package let secret: String
    /// The http or https URL that requests are sent to.
    package let url: String
    /// The kinds of events to send.
    package let events: WebhookKinds
    /// Whether a request may contain several events.
    package let batch: Bool
    /// Whether requests may connect to a private address. If not, a request whose host resolves to one fails.
    package let allowsPrivate: Bool

    package init(
        appIndex: Int, key: String, secret: String, url: String, events: WebhookKinds, batch: Bool, allowsPrivate: Bool
    ) {
        self.appIndex = appIndex
        self.key = key
        self.secret = secret
        self.url = url
        self.events = events
        self.batch = batch
        self.allowsPrivate = allowsPrivate
    }

    /// Scheme, host and port, for logs. The rest of the URL may contain secrets.
    package var origin: String {
        guard let scheme = url.firstRange(of: "://") else { return "" }
        let authority = url[scheme.upperBound...].utf8.prefix { !"/?#".utf8.contains($0) }
        let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.index(after: $0)...] } ?? authority
        return String(url[..<scheme.upperBound]) + String(Substring(host))
    }
}
