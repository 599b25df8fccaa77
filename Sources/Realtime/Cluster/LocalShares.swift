import Primitives
import PusherProtocol

/// This node's shares of channels, and what their keepers were told of them.
struct LocalShares {
    private struct Share {
        /// The local subscribers.
        var count = 0
        /// The users with local connections, if it is a presence channel.
        var users: Set<Identifier> = []
        /// When it has changed last, in milliseconds.
        var changedAt: Int64 = 0

        var isEmpty: Bool { count == 0 && users.isEmpty }
        var whole: ShareChange { .whole(count: count, users: users.map(\.text).sorted()) }
    }

    private var shares: [ChannelKey: Share] = [:]
    /// What each other node was told, or would have been if the bus were there.
    private var digests: [Epoch: ShareDigest] = [:]

    /// In order.
    var keys: [ChannelKey] { shares.keys.sorted(by: ChannelKey.precedes) }

    func digest(for keeper: Epoch) -> ShareDigest { digests[keeper] ?? ShareDigest() }

    func whole(_ key: ChannelKey) -> ShareChange { (shares[key] ?? Share()).whole }

    /// - Parameter keepers: the nodes that are told.
    mutating func setCount(_ count: Int, of key: ChannelKey, keepers: Keepers, at now: Int64) {
        let before = change(key, at: now) { share in
            defer { share.count = count }
            return share.count
        }
        for keeper in keepers.all { digests[keeper, default: ShareDigest()].replace(before, with: count, of: key) }
    }

    /// - Parameter keepers: the nodes that are told.
    mutating func setUser(_ userID: String, isHere: Bool, of key: ChannelKey, keepers: Keepers, at now: Int64) {
        let isNew = change(key, at: now) { share in
            let id = Identifier(userID)
            return isHere ? share.users.insert(id).inserted : share.users.remove(id) != nil
        }
        guard isNew else { return }
        for keeper in keepers.all {
            if isHere {
                digests[keeper, default: ShareDigest()].add(userID, of: key)
            } else {
                digests[keeper, default: ShareDigest()].remove(userID, of: key)
            }
        }
    }

    private mutating func change<Result>(_ key: ChannelKey, at now: Int64, _ body: (inout Share) -> Result) -> Result {
        let result = body(&shares[key, default: Share()])
        shares[key]?.changedAt = now
        if shares[key]?.isEmpty == true { shares[key] = nil }
        return result
    }

    /// A channel whose keepers have changed.
    struct Moved {
        let key: ChannelKey
        let keepers: Keepers
        /// Those of them that were neither keeper nor follower before.
        let receivers: [Epoch]
        /// When this node's share has changed last, in milliseconds.
        let changedAt: Int64
    }

    /// The set of nodes has changed, and with it the keepers.
    /// - Returns: the channels that have a new keeper or follower, in order.
    mutating func move(from earlier: [Epoch], to present: [Epoch]) -> [Moved] {
        digests = [:]
        var moved: [Moved] = []
        for (key, share) in shares {
            let (before, after) = (Keepers(of: key, among: earlier), Keepers(of: key, among: present))
            for keeper in after.all {
                digests[keeper, default: ShareDigest()].replace(0, with: share.count, of: key)
                for user in share.users { digests[keeper]?.add(user.text, of: key) }
            }
            let receivers = after.all.filter { !before.contains($0) }
            if !receivers.isEmpty {
                moved.append(Moved(key: key, keepers: after, receivers: receivers, changedAt: share.changedAt))
            }
        }
        return moved.sorted { ChannelKey.precedes($0.key, $1.key) }
    }
}
