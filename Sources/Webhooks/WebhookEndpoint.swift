import PusherProtocol

/// Where webhooks of one application go: an entry of its `webhooks` in the configuration.
package struct WebhookEndpoint: Sendable {
    /// The application's place in the configured list.
    package let appIndex: Int
    /// The application's key, which goes along as `X-Pusher-Key`.
    package let key: String
    /// The secret that signs: the application's first.
    package let secret: String
    /// http or https.
    package let url: String
    /// What it wants to hear.
    package let events: WebhookKinds
    /// Whether one request may bring several events.
    package let batch: Bool
    /// Whether it may lie at a private address; otherwise a name that leads to one is not followed.
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

    /// Scheme, host and port: what a log may show. Behind them stands what opens the door, at many services.
    package var origin: String {
        guard let scheme = url.firstRange(of: "://") else { return "" }
        let authority = url[scheme.upperBound...].utf8.prefix { !"/?#".utf8.contains($0) }
        let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.index(after: $0)...] } ?? authority
        return String(url[..<scheme.upperBound]) + String(Substring(host))
    }
}
