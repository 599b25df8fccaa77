import PusherProtocol

/// A subscription that the gateway has refused, as operators see it. An app whose subscription is refused looks connected
/// and gets nothing, so somebody has to be told.
package struct SubscriptionRefusal: Hashable, Sendable {
    /// The pattern of the rule that matches the channel (``ChannelRules/pattern(of:)``); nil if none does. The number of
    /// different patterns is bounded by the configuration, which that of names is not.
    package let pattern: String?
    package let reason: RefusalReason

    package init(pattern: String?, reason: RefusalReason) {
        self.pattern = pattern
        self.reason = reason
    }

    /// - Parameter channel: the name as the client has sent it.
    init(_ reason: RefusalReason, _ channel: String, _ rules: AppRules) {
        let name = ChannelName(channel, lengthMax: rules.limits.nameLength)
        self.init(pattern: name.flatMap { rules.channels?.pattern(of: $0) }, reason: reason)
    }
}

/// Refused subscriptions, for whoever counts them.
extension Hub {
    /// Whether ``drainRefusals(_:)`` has any to pass.
    package var hasRefusals: Bool { !refusals.isEmpty }

    /// Passes the refused subscriptions to `consume`, and removes them. Call it after each input.
    package mutating func drainRefusals(_ consume: (AppIndex, SubscriptionRefusal) -> Void) {
        for (app, refusal) in refusals { consume(app, refusal) }
        refusals.removeAll(keepingCapacity: true)
    }

    /// Records that a subscription to a channel is refused.
    mutating func refuse(_ channel: ChannelName, _ app: AppIndex, because reason: RefusalReason) {
        refusals.append((app, SubscriptionRefusal(pattern: apps[app].rules.channels?.pattern(of: channel), reason: reason)))
    }
}
