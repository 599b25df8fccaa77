import Realtime

extension Settings.Webhook {
    init(_ webhook: Section) {
        self.init(url: "")  // The rule rejects "", so the key is required.
        webhook.url("url", into: &url, .webhookURL, isHidden: true)
        webhook.texts("events", into: &events, .webhookEvent, mayBeEmpty: true)
        webhook.flag("batch", into: &batch)
        webhook.flag("allow_private", into: &allowPrivate)
    }
}
