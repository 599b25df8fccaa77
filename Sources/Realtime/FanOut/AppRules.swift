import Access
import PusherProtocol

/// An application's settings that the hub needs.
package struct AppRules: Equatable, Sendable {
    /// Limits of connections, channels and messages.
    package var limits = Limits()
    /// Whether client events are enabled (protocol point E1).
    package var clientEvents = false
    /// Whether subscribers get `subscription_count` events (protocol point N1).
    package var subscriptionCounts = false
    /// The kinds of webhook events that the hub records; empty if the application has no webhooks.
    package var webhooks: WebhookKinds = []
    /// Who may subscribe to the channels of the fleet (drivers, admins, bookings, customers). Nil unless this is the
    /// application that carries them (`fleet.app` in the configuration).
    package var policy: ChannelPolicy?

    /// Whether anybody wants to know when channels become occupied and vacated, when members come and go, or how many
    /// subscribers there are.
    package var reportsShares: Bool {
        subscriptionCounts
            || !webhooks.isDisjoint(with: [.channelOccupied, .channelVacated, .memberAdded, .memberRemoved, .subscriptionCount])
    }

    /// The default limits, with all optional features off.
    package init() {}
}
