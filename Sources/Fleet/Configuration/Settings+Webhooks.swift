extension Settings {
    /// A URL to which an app's webhooks are sent.
    package struct Webhook: Equatable, Sendable {
        /// An http or https URL without user info and fragment. Errors do not show it, because its path or query may
        /// contain a password.
        package var url: String
        /// The names of the events to send, as listed in `WebhookKinds`. Empty: all events.
        package var events: [String] = []
        /// True: events in quick succession are sent in one request.
        package var batch = false
        /// True: `url` may resolve to an address of a private network. False: the request is not sent to such an
        /// address.
        package var allowPrivate = false

        package init(url: String) {
            self.url = url
        }

        /// The most webhooks of one app. It is small, because one client event can cause a request to each of them.
        package static let perAppMax = 10
    }
}

// MARK: Reading

extension Settings.Webhook {
    init(_ webhook: Section) {
        self.init(url: "")  // The rule rejects "", so the key is required.
        webhook.url("url", into: &url, .webhookURL, isHidden: true)
        webhook.texts("events", into: &events, .webhookEvent, mayBeEmpty: true)
        webhook.flag("batch", into: &batch)
        webhook.flag("allow_private", into: &allowPrivate)
    }
}
