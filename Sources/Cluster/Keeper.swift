/// Chooses the node that keeps a channel's sums: the live node with the highest hash of node, application and channel
/// (rendezvous hashing). When a node comes or goes, only the channels that it keeps move.
package enum Keeper {
    package static func keeper(of channel: String, app: String, among nodes: some Sequence<Epoch>) -> Epoch? {
        nodes.max { weight($0, channel, app) < weight($1, channel, app) }
    }

    /// The keeper, and the node that keeps the channel when the keeper has gone.
    static func keepers(of key: ChannelKey, among nodes: [Epoch]) -> [Epoch] {
        guard let first = keeper(of: key.channel, app: key.app, among: nodes) else { return [] }
        let second = keeper(of: key.channel, app: key.app, among: nodes.filter { $0 != first })
        return [first] + (second.map { [$0] } ?? [])
    }

    /// FNV-1a, then a finaliser: all nodes must compute the same, whatever their version of Swift.
    private static func weight(_ node: Epoch, _ channel: String, _ app: String) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325 ^ node.value
        for byte in app.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ 0xff) &* 0x100_0000_01b3
        for byte in channel.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash ^= hash >> 33
        hash = hash &* 0xff51_afd7_ed55_8ccd
        return hash ^ hash >> 33
    }
}
