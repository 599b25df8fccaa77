import PusherProtocol

/// A channel of an application, by the application's id: nodes may list their applications in different orders.
package struct ChannelKey: Sendable {
    /// The same on all nodes. It chooses the channel's keeper, and orders channels in the same way in every process.
    let hash: UInt64
    package let app: String
    package let channel: String

    package init(app: String, channel: String) {
        self.app = app
        self.channel = channel
        var hash = StableHash(seed: 0)
        hash.add(app)
        hash.add(channel)
        self.hash = hash.value
    }

    static func precedes(_ one: ChannelKey, _ other: ChannelKey) -> Bool {
        one.hash != other.hash ? one.hash < other.hash : (one.app, one.channel) < (other.app, other.channel)
    }
}

extension ChannelKey: Hashable {
    // Clients choose the names of channels, and could make many with equal stable hashes.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(app)
        hasher.combine(channel)
    }
}
