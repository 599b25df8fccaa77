import PusherProtocol

/// An application's settings that the hub needs.
package struct AppRules: Sendable {
    /// Limits of connections, channels and messages.
    package var limits = Limits()
    /// Whether client events are enabled (protocol point E1).
    package var clientEvents = false
    /// Whether subscribers get `subscription_count` events (protocol point N1).
    package var subscriptionCounts = false
    /// The kinds of webhook events that the hub records; empty if the application has no webhooks.
    package var webhooks: WebhookKinds = []
    /// What some channels' names mean; nil if they mean no more than the protocol says.
    package var channels: (any ChannelRules)? {
        get { channelRules.first }
        set { channelRules = newValue.map { [$0] } ?? [] }
    }
    /// At most one. In an array, because the compiler can copy a value with an existential in it less simply: its type, and
    /// that of all that contains it.
    private var channelRules: [any ChannelRules] = []

    /// Whether anybody wants to know when channels become occupied and vacated, when members come and go, or how many
    /// subscribers there are.
    package var reportsShares: Bool {
        subscriptionCounts
            || !webhooks.isDisjoint(with: [.channelOccupied, .channelVacated, .memberAdded, .memberRemoved, .subscriptionCount])
    }

    /// The default limits, with all optional features off.
    package init() {}
}
