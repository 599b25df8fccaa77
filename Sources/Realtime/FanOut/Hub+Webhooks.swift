import PusherProtocol

/// Events for backends' webhooks (protocol section V).
extension Hub {
    /// Whether ``drainWebhookEvents(_:)`` has events to pass.
    package var hasWebhookEvents: Bool { !webhookEvents.isEmpty }

    /// Passes the recorded events to `consume`, in the order in which they occurred, and removes them. Call this after
    /// each input while the hub is still locked; otherwise the events of two inputs could change order.
    package mutating func drainWebhookEvents(_ consume: (AppWebhookEvent) -> Void) {
        for event in webhookEvents { consume(event) }
        webhookEvents.removeAll(keepingCapacity: true)
    }

    /// Records an event that the keeper of a channel has decided, if a webhook of the application lists its kind.
    package mutating func recordWebhookEvent(_ event: AppWebhookEvent) {
        if apps[event.app].rules.webhooks.contains(event.event.kind) { webhookEvents.append(event) }
    }

    /// Records an event of a channel if a webhook of the application lists the event's kind; `makeEvent` is called only
    /// then. Ignores the private server-to-user channels (`#…`), as ``occupiedChannels(app:prefix:read:)`` does.
    mutating func recordWebhookEvent(
        _ kind: WebhookKinds, on slot: ChannelSlot, _ makeEvent: (ChannelName) -> WebhookEvent
    ) {
        // Edges and sums of a cluster are decided by the channel's keeper.
        guard !isClustered || kind == .clientEvent || kind == .cacheMiss else { return }
        let app = channels[slot].app
        guard apps[app].rules.webhooks.contains(kind), !channels[slot].name.text.utf8.starts(with: "#".utf8) else { return }
        webhookEvents.append(AppWebhookEvent(app: app, makeEvent(channels[slot].name)))
    }
}
