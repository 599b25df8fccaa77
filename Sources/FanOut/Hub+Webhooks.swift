import PusherProtocol

/// Events for backends' webhooks (protocol section V).
extension Hub {
    /// Whether ``drainWebhookEvents(_:)`` has events.
    package var hasWebhookEvents: Bool { !webhookEvents.isEmpty }

    /// Passes the recorded events to `consume`, in their order. Call it after each input, before the hub is unlocked;
    /// otherwise the events of two inputs could change order.
    package mutating func drainWebhookEvents(_ consume: (AppWebhookEvent) -> Void) {
        for event in webhookEvents { consume(event) }
        webhookEvents.removeAll(keepingCapacity: true)
    }

    /// Records an event of a channel if the application's webhooks want its kind; `event` is called only then. Ignores
    /// the private server-to-user channels (`#…`), as the list of channels does.
    mutating func recordWebhookEvent(_ kind: WebhookKinds, on slot: ChannelSlot, _ event: (ChannelName) -> WebhookEvent) {
        let app = channels[slot].app
        guard apps[app].rules.webhooks.contains(kind), !channels[slot].name.text.utf8.starts(with: "#".utf8) else { return }
        webhookEvents.append(AppWebhookEvent(app: app, event(channels[slot].name)))
    }
}
