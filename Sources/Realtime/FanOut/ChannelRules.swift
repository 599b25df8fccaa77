import Addresses
import Primitives
import PusherProtocol

/// What some names of an application's channels mean beyond the protocol.
package protocol ChannelRules: Sendable {
    /// The channel that gets the events of this one too, each with its own name; nil for most channels. It gets clients'
    /// events from the hub, and others from who publishes.
    func mirror(of channel: ChannelName) -> ChannelName?

    /// The channel of a user, if this is another spelling of its name; nil for all other channels.
    func userChannel(aliasedBy channel: ChannelName) -> ChannelName?

    /// The id of a user, if this is another spelling of it.
    func userID(aliasedBy id: String) -> String?

    /// Whether only the gateway publishes on the channel.
    func isReserved(_ channel: ChannelName) -> Bool

    /// The pattern of the rule that applies to the channel, for operators; nil if none does. The number of different
    /// patterns is bounded.
    func pattern(of channel: ChannelName) -> String?

    /// The pattern of the rule that applies to a plain name, and who may subscribe without a signature by it; nil if nobody
    /// may, or everybody.
    func legacy(of channel: ChannelName) -> (pattern: String, legacy: Legacy)?
}

/// Who may subscribe to the plain names of a rule without a signature, beside those to whom it gives access: apps that
/// never sign, during a migration.
package struct Legacy: Equatable, Sendable {
    /// From this time on nobody, in milliseconds since 1970; nil: no end.
    package let until: Int64?
    /// The keys with which the connection may have been opened.
    package let keys: [String]
    /// The networks from which the client may come; empty: all.
    package let networks: [IPNetwork]
    /// The members of events' data that are null for these subscribers.
    package let hiddenMembers: [String]

    package init(until: Int64?, keys: [String], networks: [IPNetwork] = [], hiddenMembers: [String] = []) {
        self.until = until
        self.keys = keys
        self.networks = networks
        self.hiddenMembers = hiddenMembers
    }

    /// Whether the time is over.
    /// - Parameter now: milliseconds since 1970.
    package func isOver(at now: Int64) -> Bool { until.map { now >= $0 } ?? false }

    /// Whether a connection may subscribe.
    /// - Parameters:
    ///   - key: the application's key with which it was opened.
    ///   - address: the client's address; nil if it is not known.
    ///   - now: milliseconds since 1970.
    package func permits(key: String, address: IPAddress?, at now: Int64) -> Bool {
        guard !isOver(at: now), keys.contains(where: { $0.hasSameBytes(as: key) }) else { return false }
        return networks.isEmpty || address.map { address in networks.contains { $0.contains(address) } } ?? false
    }
}
