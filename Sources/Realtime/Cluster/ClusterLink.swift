import FanOut
import Primitives
import PusherProtocol

/// This node's part in the cluster: which channels it hears, who else lives, whose members it has copies of. A pure value:
/// each call appends ``Output``s, which the caller carries out in order, and ``flush(_:)`` appends those to single nodes.
///
/// It stands beside the hub, under the same lock. What the hub does locally is told to it, and becomes messages to other
/// nodes; what other nodes tell becomes the hub's inputs. So the bus sees the hub's order.
package struct ClusterLink {
    /// What the caller must do.
    package enum Output: Sendable {
        /// Subscribe to a subject, publish on one: `BusCommand`s in order.
        case subscribe(subject: String, token: UInt64)
        case unsubscribe(token: UInt64)
        case publish(subject: String, [UInt8])
        /// Apply an input to the hub.
        case hub(Hub.Input)
        /// A loop's subscriptions to a channel may go on.
        case ready(ChannelName, app: AppIndex, loop: Int)
        /// Another node has written this to the log of what runs on top.
        case logged(position: Int64, entry: [UInt8])
        /// Another node asks; the answer goes to ``ClusterLink/answer(_:to:_:)``.
        case question(ticket: UInt64, from: Epoch, kind: UInt8, [UInt8])
        /// Another node tells something.
        case note(ClusterNote)
        /// A question of this node has its answers.
        case answered(Questions.Result)
        case came(ClusterNode)
        case went(ClusterNode, isOrderly: Bool)
        /// Tell the backends' webhooks, if they want to know.
        case webhook(AppWebhookEvent)
        /// The other nodes have told the members of a presence channel, so long after they were asked.
        case synchronized(milliseconds: Int64)
        /// A message on a channel's subject was lost.
        case gap(ChannelName, app: AppIndex)
    }

    /// The token of the subject of all nodes, and that of this node's own.
    static let nodesToken: UInt64 = .max
    static let nodeToken: UInt64 = .max - 1

    package private(set) var node: ClusterNode
    let subjects: Subjects
    /// What the link needs to know of the applications, by index.
    package let rules: [App]
    let heartbeatMilliseconds: Int64
    var isUp = false
    var membership: Membership
    var interests = Interests()
    /// The questions for cached events, and the tokens of their channels.
    var cacheTickets: [UInt64: UInt64] = [:]
    var localMembers = LocalMembers()
    var sent = SentNumbers()
    /// The messages to single nodes that ``flush(_:)`` puts out.
    var unsent: [Epoch: [ClusterMessage.Body]] = [:]
    var receivedParts = ReceivedParts()
    var receivedByAll = ReceivedNumbers()
    var receivedByThis = ReceivedNumbers()
    var questions = Questions()
    var localShares = LocalShares()
    var kept: KeptChannels
    var agreement: Agreement
    /// When the counts of large channels are told, and when old facts are looked for, in milliseconds.
    var countsAt: Int64 = 0
    var sweepAt: Int64 = 0
    /// When another node was declared dead last, in milliseconds.
    var diedAt: Int64?
    /// When this node has learned last that another one had given it up.
    var begunAnewAt: Int64?
    /// Whether it has said goodbye.
    private(set) var isEnding = false
    /// Milliseconds of the monotonic clock.
    var now: Int64
    /// When the last heartbeat was sent, or would have been if the bus were there.
    package private(set) var heartbeatAt: Int64 = 0
    /// When ``tick(at:_:)`` was last called.
    private var tickedAt: Int64
    /// Messages of another version, or malformed.
    package internal(set) var unreadableMessages = 0

    /// - Parameters:
    ///   - name: the cluster's.
    ///   - apps: by index.
    ///   - now: milliseconds of the monotonic clock.
    package init(name: String, node: ClusterNode, apps: [App], heartbeatMilliseconds: Int64, now: Int64) {
        subjects = Subjects(name: name)
        self.node = node
        rules = apps
        self.heartbeatMilliseconds = heartbeatMilliseconds
        self.now = now
        tickedAt = now
        membership = Membership(heartbeatMilliseconds: heartbeatMilliseconds)
        kept = Self.noChannels(heartbeatMilliseconds)
        agreement = Agreement(at: now)
    }

    /// An application.
    package struct App: Sendable {
        package let id: String
        /// Whether subscribers get `subscription_count` events.
        let countsSubscriptions: Bool
        /// Whether anybody wants to know edges or counts.
        let reportsShares: Bool

        package init(id: String, _ rules: AppRules) {
            self.id = id
            countsSubscriptions = rules.subscriptionCounts
            reportsShares = rules.reportsShares
        }
    }

    func index(ofApp id: String) -> AppIndex? { rules.firstIndex { $0.id == id } }

    /// The other nodes that live.
    package var others: [ClusterNode] { membership.nodes }

    /// The number of channels whose subjects are subscribed to.
    package var subscriptionCount: Int { interests.count }

    // MARK: The connection

    /// Subscribes to the subjects of all nodes and of this one. Call it once, first.
    package mutating func start(_ outputs: inout [Output]) {
        outputs.append(.subscribe(subject: subjects.nodes, token: Self.nodesToken))
        outputs.append(.subscribe(subject: subjects.node(node.epoch), token: Self.nodeToken))
    }

    /// Begins another life of the node: the others have given it up, and all its connections are closed.
    package mutating func begin(_ epoch: Epoch, at now: Int64, _ outputs: inout [Output]) {
        for token in interests.all { leave(token, &outputs) }
        outputs.append(.unsubscribe(token: Self.nodesToken))
        outputs.append(.unsubscribe(token: Self.nodeToken))
        let wasUp = isUp
        disconnected(&outputs)
        let (counted, others) = (unreadableMessages, membership)
        var next = self
        next.reset(ClusterNode(name: node.name, epoch: epoch), at: max(self.now, now))
        self = next
        (unreadableMessages, membership) = (counted, others)
        start(&outputs)
        if wasUp { connected(at: self.now, &outputs) }
    }

    mutating func reset(_ node: ClusterNode, at now: Int64) {
        let tokens = interests
        self.node = node
        interests = Interests()
        interests.goOn(after: tokens)
        localMembers = LocalMembers()
        sent = SentNumbers()
        unsent = [:]
        receivedParts = ReceivedParts()
        receivedByAll = ReceivedNumbers()
        receivedByThis = ReceivedNumbers()
        questions = Questions()
        localShares = LocalShares()
        kept = Self.noChannels(heartbeatMilliseconds)
        agreement.connected(at: now)
        (begunAnewAt, diedAt) = (nil, nil)
        cacheTickets = [:]
        self.now = now
    }

    /// The connection to the bus is there.
    package mutating func connected(at now: Int64, _ outputs: inout [Output]) {
        self.now = max(self.now, now)
        isUp = true
        membership.connected(at: self.now)
        interests.connected(at: self.now)
        agreement.connected(at: self.now)
        sendHeartbeat(&outputs)
    }

    /// The connection is lost: subscriptions that wait go on, and all questions end without answers.
    package mutating func disconnected(_ outputs: inout [Output]) {
        isUp = false
        membership.disconnected()
        receivedByAll.forgetAll()
        receivedByThis.forgetAll()
        receivedParts.forgetAll()
        let unready = interests.unready
        interests.disconnected()
        for token in unready { release(token, &outputs) }
        for result in questions.tick(at: .max) { answered(result, &outputs) }
    }

    /// The server has acknowledged subscriptions.
    package mutating func granted(_ tokens: [UInt64], at now: Int64, _ outputs: inout [Output]) {
        self.now = max(self.now, now)
        let others = membership.nodes
        for token in tokens where interests[token] != nil {
            interests[token]?.askedAt = nil
            // Only now: changes of the members that follow the answer are heard.
            for other in others { askForMembers(token, other.epoch) }
            askForCached(token, &outputs)
            release(token, &outputs)
        }
    }

    /// Time passes. Call it several times a second.
    package mutating func tick(at now: Int64, _ outputs: inout [Output]) {
        self.now = max(self.now, now)
        // This node was frozen, and what the others have sent meanwhile may still wait in a buffer.
        if isUp, self.now - tickedAt > heartbeatMilliseconds { membership.resume(at: self.now) }
        tickedAt = self.now
        apply(membership.tick(at: self.now), &outputs)
        sent.tick(at: self.now)
        localMembers.tick(at: self.now)
        receivedParts.tick(at: self.now)
        if self.now - heartbeatAt >= heartbeatMilliseconds { sendHeartbeat(&outputs) }
        for token in interests.overdue(at: self.now) {
            interests[token]?.askedAt = nil
            interests[token]?.members?.giveUp(askedUntil: self.now - Timing.interestPatience)
            release(token, &outputs)
        }
        for token in interests.expired(at: self.now) { leave(token, &outputs) }
        tickShares(&outputs)
        for result in questions.tick(at: self.now) { answered(result, &outputs) }
    }

    /// Says goodbye: the others withdraw this node's members at once.
    package mutating func end(_ outputs: inout [Output]) {
        endKeeping(&outputs)
        flush(&outputs)
        publish(.goodbye, on: subjects.nodes, &outputs)
        isEnding = true
    }

    mutating func sendHeartbeat(_ outputs: inout [Output]) {
        heartbeatAt = now
        // Thousands of presence channels may have changed, and a message takes a mebibyte at most.
        let named = localMembers.recentVersions(at: now).chunked(bytes: Self.bundleBytes, sizeHint: \.sizeHint)
        for versions in named.isEmpty ? [[]] : named {
            publish(.heartbeat(name: node.name, versions), on: subjects.nodes, &outputs)
        }
        sendDigests()
    }

    /// A keeper may have noticed nothing since it was cut off, and others wait for it; then its facts wait to be told.
    private static func noChannels(_ heartbeatMilliseconds: Int64) -> KeptChannels {
        KeptChannels(memory: (Membership.heartbeatsMissed + 1) * heartbeatMilliseconds + Timing.keeperAbsence)
    }
}
