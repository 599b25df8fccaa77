import PusherProtocol

/// What runs on top of the hub decides by this who may subscribe, and what follows. The hub asks it at few points, and never
/// for a publish. Its methods run while the hub is locked, so they must be quick.
///
/// ``Hub/gate`` is nil during a method that gets the hub: none of the hub's functions that such a method calls asks the
/// gate again.
package protocol HubGate: Sendable {
    /// Why to deny a subscription; nil if it is permitted. The signature is valid if the channel requires one.
    func denial(of subscriber: Subscriber, joining channel: ChannelName) -> SubscriptionDenial?

    /// Whether the people of a connection may have a channel now, to which it is subscribed without a signature.
    func permits(_ subscriber: Subscriber, _ channel: ChannelName) -> Bool

    /// A subscription was opened and confirmed. Called only while ``Hub/tellsGateOfSubscriptions`` is set.
    mutating func subscribed(to channel: ChannelName, app: AppIndex, _ hub: inout Hub, _ effects: inout [Hub.Effect])

    /// A connection has signed in, for the first and only time.
    mutating func signedIn(_ subscriber: Subscriber)

    /// A connection has closed, and has no subscriptions any longer.
    mutating func closed(_ socket: SocketID)

    /// Gives back the memory of one table that was far larger.
    /// - Returns: whether there was one.
    mutating func releaseMemory() -> Bool
}

/// An open connection, for ``HubGate``.
package struct Subscriber: Sendable {
    package let socket: SocketID
    package let app: AppIndex
    /// Nil until the connection signs in.
    package let user: SignedInUser?
}

/// Why a subscription is denied.
package struct SubscriptionDenial: Equatable, Sendable {
    /// For the client.
    package let text: String
    /// For operators. After ``RefusalReason/notSignedIn``, the hub keeps the name until the connection signs in.
    package let reason: RefusalReason

    package init(_ text: String, _ reason: RefusalReason) {
        self.text = text
        self.reason = reason
    }
}
