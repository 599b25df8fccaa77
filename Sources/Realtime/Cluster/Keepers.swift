import PusherProtocol

/// Chooses the nodes that keep a channel's sums: the live nodes with the highest hashes of node, application and channel
/// (rendezvous hashing). When a node comes or goes, only the channels that it keeps or follows move.
package struct Keepers: Equatable, Sendable {
    /// The keeper; nil: no node lives.
    package private(set) var first: Epoch?
    /// The node that follows the keeper, and keeps the channel when the keeper has gone; nil: no other node lives.
    package private(set) var second: Epoch?

    /// - Parameter nodes: those that live.
    package init(of key: ChannelKey, among nodes: some Sequence<Epoch>) {
        var (firstWeight, secondWeight): (UInt64, UInt64) = (0, 0)
        for node in nodes {
            let weight = StableHash.mix(key.hash ^ StableHash.mix(node.value))
            if first == nil || weight > firstWeight {
                (second, secondWeight) = (first, firstWeight)
                (first, firstWeight) = (node, weight)
            } else if second == nil || weight > secondWeight {
                (second, secondWeight) = (node, weight)
            }
        }
    }

    package func contains(_ node: Epoch) -> Bool { first == node || second == node }

    /// The keeper and the node that follows it, as far as there are any.
    var all: [Epoch] { [first, second].compactMap(\.self) }
}
