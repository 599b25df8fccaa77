import FanOut
import PusherProtocol

/// The channels whose subjects this node is subscribed to: those with local subscribers, and those whose last one left a
/// moment ago. Each has a token, by which the bus names it.
struct Interests {
    /// How long a subscription may wait for the server's acknowledgement and for other nodes' members, in milliseconds.
    static let patience: Int64 = 1_000
    /// How long the subject of a channel without subscribers stays subscribed, in milliseconds, so that clients who come and
    /// go cost nothing.
    static let linger: Int64 = 5_000

    struct Key: Hashable {
        let app: AppIndex
        let channel: ChannelName
    }

    struct Interest {
        let key: Key
        let subject: String
        /// When the server was asked; nil once it has acknowledged.
        var askedAt: Int64?
        /// Since when the channel has had no local subscriber; nil while it has one.
        var idleSince: Int64?
        /// The loops whose subscriptions wait.
        var waiting = LoopSet()
        /// What has been received.
        var numbers = ReceivedNumbers()
        /// Nil unless this is a presence channel, or tells whether a user is signed in.
        var members: RemoteMembers?
        /// Whether its only possible member is a user who is signed in.
        let isSignIns: Bool
        /// The connections that wait to learn who is signed in.
        var watchers: [SocketID] = []
        /// When the other nodes were asked for the cache channel's last event; nil once they have answered.
        var cacheAskedAt: Int64?
        var cacheTicket: UInt64 = 0
        /// Whether an event has come since the channel is heard.
        var hasReceivedEvent = false

        /// Whether the channel's new subscribers miss nothing.
        var isReady: Bool { askedAt == nil && cacheAskedAt == nil && members?.isComplete ?? true }
    }

    private(set) var tokens: [Key: UInt64] = [:]
    /// The number of users for whose state each connection waits.
    var awaited: [SocketID: Int] = [:]
    var byToken: [UInt64: Interest] = [:]
    private var lastToken: UInt64 = 0

    var count: Int { byToken.count }

    /// - Parameter isSignIns: whether the channel is ``ChannelName/signIns(of:)``.
    mutating func add(_ key: Key, subject: String, isSignIns: Bool, askedAt: Int64?, at now: Int64) -> UInt64 {
        lastToken += 1
        tokens[key] = lastToken
        byToken[lastToken] = Interest(
            key: key, subject: subject, askedAt: askedAt, idleSince: now,
            members: key.channel.isPresence || isSignIns ? RemoteMembers() : nil, isSignIns: isSignIns)
        return lastToken
    }

    /// Goes on with the tokens of an earlier life: the bus has not forgotten them yet.
    mutating func goOn(after earlier: Interests) { lastToken = earlier.lastToken }

    mutating func remove(_ token: UInt64) {
        guard let interest = byToken.removeValue(forKey: token) else { return }
        tokens[interest.key] = nil
    }

    /// The tokens of the presence channels, in the order in which they were added.
    var presenceTokens: [UInt64] { byToken.filter { $0.value.members != nil }.keys.sorted() }

    /// The tokens of the presence channels whose members a node has not told in time.
    func unanswered(by node: Epoch) -> [UInt64] {
        byToken.filter { $0.value.members?.unanswered.contains(node) == true }.keys.sorted()
    }

    /// Those that have been idle for long.
    func expired(at now: Int64) -> [UInt64] {
        byToken.filter { $0.value.waiting.isEmpty && now - ($0.value.idleSince ?? now) >= Self.linger }.keys.sorted()
    }

    /// Those for which subscriptions have waited for too long.
    func overdue(at now: Int64) -> [UInt64] {
        byToken.filter {
            !$0.value.isReady && now - ($0.value.askedAt ?? .max) >= Self.patience
                || $0.value.members.map { members in members.asked.contains { now - $0.value >= Self.patience } } ?? false
        }.keys.sorted()
    }
}
