import Access
import PusherProtocol

/// An application's settings that the hub needs.
package struct AppRules: Equatable, Sendable {
    package var limits = Limits()
    /// Whether client events are enabled (E1).
    package var clientEvents = false
    /// Whether subscribers get `subscription_count` events (N1).
    package var subscriptionCounts = false
    /// The kinds of webhook events to record; empty without webhooks, which then cost nothing.
    package var webhooks: WebhookKinds = []
    /// Who may subscribe to the fleet channels; nil for applications without them.
    package var policy: ChannelPolicy?

    package init() {}
}
