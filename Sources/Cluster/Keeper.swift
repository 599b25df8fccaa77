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

    private static func weight(_ node: Epoch, _ channel: String, _ app: String) -> UInt64 {
        var hash = StableHash(seed: node.value)
        hash.add(app)
        hash.add(channel)
        return hash.value
    }
}
