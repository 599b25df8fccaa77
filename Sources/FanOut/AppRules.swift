import Access
import PusherProtocol

/// What an application may do, as far as the hub has to know.
package struct AppRules: Equatable, Sendable {
    package var limits = Limits()
    /// Whether clients may send events to each other (E1).
    package var clientEvents = false
    /// Whether subscribers hear how many they are (N1).
    package var subscriptionCounts = false
    /// What its backend is to be told; empty for those without webhooks, which pay nothing for them.
    package var webhooks: WebhookKinds = []
    /// Whose its channels are; nil for applications without the fleet's channels.
    package var policy: ChannelPolicy?

    package init() {}
}
