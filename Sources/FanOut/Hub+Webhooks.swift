import PusherProtocol

/// What backends are told over webhooks (PROTOCOL V).
extension Hub {
    /// Whether there is anything to be taken.
    package var hasWebhookEvents: Bool { !webhookEvents.isEmpty }

    /// Hands over what backends are to be told, in the order in which it happened: after every input, before the hub is
    /// unlocked, or two inputs' notices could change places.
    package mutating func drainWebhookEvents(_ take: (AppWebhookEvent) -> Void) {
        for notice in webhookEvents { take(notice) }
        webhookEvents.removeAll(keepingCapacity: true)
    }

    /// Notes an event of a channel if its application wants that kind; it is made only then. Channels that belong to a single
    /// user are nobody else's business, here as in the list of channels.
    mutating func recordWebhookEvent(_ kind: WebhookKinds, on slot: ChannelSlot, _ event: (ChannelName) -> WebhookEvent) {
        let app = channels[slot].app
        guard apps[app].rules.webhooks.contains(kind), !channels[slot].name.text.utf8.starts(with: "#".utf8) else { return }
        webhookEvents.append(AppWebhookEvent(app: app, event(channels[slot].name)))
    }
}
