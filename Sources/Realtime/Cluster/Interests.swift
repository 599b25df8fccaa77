import FanOut
import Primitives
import PusherProtocol

/// The channels whose subjects this node is subscribed to: those with local subscribers, and those whose last one left a
/// moment ago. Each has a token, by which the bus names it.
struct Interests {
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
    private var byToken: [UInt64: Interest] = [:]
    // The tokens of those that are looked for again and again: there may be a hundred thousand others.
    private var notReady: Set<UInt64> = []
    private var idle: Set<UInt64> = []
    private var presence: Set<UInt64> = []
    private var unanswered: Set<UInt64> = []
    /// The number of users for whose state each connection waits.
    var awaited: [SocketID: Int] = [:]
    private var lastToken: UInt64 = 0

    var count: Int { byToken.count }

    /// In the order in which they were added.
    var all: [UInt64] { byToken.keys.sorted() }

    /// Do not set it to nil: ``remove(_:)`` does more.
    subscript(token: UInt64) -> Interest? {
        get { byToken[token] }
        _modify {
            yield &byToken[token]
            index(token)
        }
    }

    private mutating func index(_ token: UInt64) {
        func set(_ isMember: Bool, _ tokens: inout Set<UInt64>) {
            if isMember { tokens.insert(token) } else { tokens.remove(token) }
        }
        set(byToken[token]?.isReady == false, &notReady)
        set(byToken[token]?.idleSince != nil, &idle)
        set(byToken[token]?.members?.unanswered.isEmpty == false, &unanswered)
    }

    /// - Parameter isSignIns: whether the channel is ``ChannelName/signIns(of:)``.
    mutating func add(_ key: Key, subject: String, isSignIns: Bool, askedAt: Int64?, at now: Int64) -> UInt64 {
        lastToken += 1
        tokens[key] = lastToken
        byToken[lastToken] = Interest(
            key: key, subject: subject, askedAt: askedAt, idleSince: now,
            members: key.channel.isPresence || isSignIns ? RemoteMembers() : nil, isSignIns: isSignIns)
        if key.channel.isPresence || isSignIns { presence.insert(lastToken) }
        index(lastToken)
        return lastToken
    }

    /// Goes on with the tokens of an earlier life: the bus has not forgotten them yet.
    mutating func goOn(after earlier: Interests) { lastToken = earlier.lastToken }

    mutating func remove(_ token: UInt64) {
        guard let interest = byToken.removeValue(forKey: token) else { return }
        tokens[interest.key] = nil
        presence.remove(token)
        index(token)
    }

    /// The tokens of the presence channels, in the order in which they were added.
    var presenceTokens: [UInt64] { presence.sorted() }

    /// The tokens of the presence channels whose members a node has not told in time.
    func unanswered(by node: Epoch) -> [UInt64] {
        unanswered.filter { byToken[$0]?.members?.unanswered.contains(node) == true }.sorted()
    }

    /// Those that have been idle for long.
    func expired(at now: Int64) -> [UInt64] {
        idle.filter { token in
            byToken[token].map { $0.waiting.isEmpty && now - ($0.idleSince ?? now) >= Timing.interestLinger } ?? false
        }.sorted()
    }

    /// The tokens of channels whose new subscribers would miss something.
    var unready: [UInt64] { notReady.sorted() }

    /// Those of them that have waited for too long.
    func overdue(at now: Int64) -> [UInt64] {
        notReady.filter { token in
            guard let interest = byToken[token] else { return false }
            return now - (interest.askedAt ?? .max) >= Timing.interestPatience
                || interest.members?.asked.contains { now - $0.value >= Timing.interestPatience } == true
        }.sorted()
    }

    /// Changes all in place: a loop over the table's indices would hold a copy of it. The caller brings the sets up to date.
    private mutating func changeAll(_ body: (inout Interest) -> Void) {
        var slot = byToken.startIndex
        while slot != byToken.endIndex {
            body(&byToken.values[slot])
            byToken.formIndex(after: &slot)
        }
    }

    // MARK: The bus

    /// A message has come on a channel's subject. Nearly all messages do, and none changes what is indexed.
    mutating func receive(_ message: ClusterMessage, token: UInt64) -> (finding: ReceivedNumbers.Finding, key: Key)? {
        guard let slot = byToken.index(forKey: token) else { return nil }
        let finding = byToken.values[slot].numbers.receive(message)
        if case .event = message.body, finding != .repeated { byToken.values[slot].hasReceivedEvent = true }
        return (finding, byToken.values[slot].key)
    }

    /// The bus is there, and acknowledges all subjects again.
    mutating func connected(at now: Int64) {
        changeAll { $0.askedAt = now }
        notReady = Set(byToken.keys)
    }

    /// The bus is gone.
    mutating func disconnected() {
        changeAll { interest in
            interest.askedAt = nil
            interest.numbers.forgetAll()
            interest.cacheAskedAt = nil
            interest.members?.giveUp(askedUntil: .max)
        }
        for token in notReady.union(presence) { index(token) }
    }

    /// A node has gone.
    /// - Returns: what has changed in the members of other nodes, by token.
    mutating func forget(_ node: Epoch) -> [(token: UInt64, changes: [RemoteMembers.Change])] {
        changeAll { $0.numbers.forget(node) }
        return presence.sorted().map { token in (token, self[token]?.members?.remove(node) ?? []) }
    }
}
