import PusherProtocol

/// A digest of a node's shares of channels, by which a keeper finds that it has lost a report. It is a sum of hashes, so a
/// change costs one hash, and the order of the changes does not matter.
struct ShareDigest: Equatable {
    private(set) var value: UInt64 = 0

    /// The node's number of subscribers has changed.
    mutating func replace(_ count: Int, with newCount: Int, of key: ChannelKey) {
        if count != 0 { value &-= Self.hash(of: count, key) }
        if newCount != 0 { value &+= Self.hash(of: newCount, key) }
    }

    /// A user has come to the node's members of a presence channel.
    mutating func add(_ userID: String, of key: ChannelKey) { value &+= Self.hash(of: userID, key) }

    mutating func remove(_ userID: String, of key: ChannelKey) { value &-= Self.hash(of: userID, key) }

    private static func hash(of count: Int, _ key: ChannelKey) -> UInt64 {
        var hash = hash(of: key, seed: 1)
        hash.add(UInt64(count))
        return hash.value
    }

    private static func hash(of userID: String, _ key: ChannelKey) -> UInt64 {
        var hash = hash(of: key, seed: 2)
        hash.add(userID)
        return hash.value
    }

    private static func hash(of key: ChannelKey, seed: UInt64) -> StableHash {
        var hash = StableHash(seed: seed)
        hash.add(key.app)
        hash.add(key.channel)
        return hash
    }
}
