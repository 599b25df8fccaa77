extension Settings {
    /// Where an app's backend hears what happens.
    package struct Webhook: Equatable, Sendable {
        /// Where events are posted: http or https, with neither user info nor fragment.
        package var url: String
        /// What it hears of, by the names of `WebhookKinds`; empty: everything.
        package var events: [String] = []
        /// True: what happens in quick succession goes in one request.
        package var batch = false
        /// True: `url` may lead into the private network.
        package var allowPrivate = false

        package init(url: String) {
            self.url = url
        }

        /// More would make one client's deed many requests.
        package static let perAppMax = 10
    }
}

// MARK: Reading

extension Settings.Webhook {
    init(_ webhook: Section) {
        self.init(url: "")  // which the rule refuses, so the file must give it
        webhook.secret("url", into: &url, .webhookURL)  // many carry their password
        webhook.texts("events", into: &events, .webhookEvent, mayBeEmpty: true)
        webhook.flag("batch", into: &batch)
        webhook.flag("allow_private", into: &allowPrivate)
    }
}
