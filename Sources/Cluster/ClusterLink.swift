import FanOut
import PusherProtocol

/// This node's part in the cluster: which channels it hears, who else lives, whose members it has copies of. A pure value:
/// each call appends ``Output``s, which the caller carries out in order.
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
        /// Another node has committed this.
        case commit(position: Int64, record: [UInt8])
        /// Another node asks; the answer goes to ``ClusterLink/answer(_:to:_:_:)``.
        case question(ticket: UInt64, from: Epoch, kind: UInt8, [UInt8])
        /// A question of this node has its answers.
        case answered(Questions.Result)
        case came(ClusterNode)
        case went(ClusterNode, isOrderly: Bool)
        /// Tell the backends' webhooks, if they want to know.
        case webhook(AppWebhookEvent)
        /// A message on a channel's subject was lost.
        case gap(ChannelName, app: AppIndex)
    }

    /// The token of the subject of all nodes, and that of this node's own.
    static let nodesToken: UInt64 = .max
    static let nodeToken: UInt64 = .max - 1

    package private(set) var node: ClusterNode
    let subjects: Subjects
    /// What the link needs to know of the applications, by index.
    let rules: [App]
    private let heartbeatMilliseconds: Int64
    private(set) var isUp = false
    private(set) var membership: Membership
    private(set) var interests = Interests()
    private var localMembers = LocalMembers()
    private var sent = SentNumbers()
    private var receivedByAll = ReceivedNumbers()
    private var questions = Questions()
    var shares = Shares()
    /// Milliseconds of the monotonic clock.
    private(set) var now: Int64
    private var heartbeatAt: Int64 = 0
    /// When ``tick(at:_:)`` was last called.
    private var tickedAt: Int64
    /// Messages of another version, or malformed.
    package private(set) var unreadableMessages = 0

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

    /// The connection to the bus is there.
    package mutating func connected(at now: Int64, _ outputs: inout [Output]) {
        self.now = max(self.now, now)
        isUp = true
        membership.connected(at: self.now)
        // All of them are acknowledged again.
        for token in interests.byToken.keys { interests.byToken[token]?.askedAt = self.now }
        sendHeartbeat(&outputs)
        reportAll(&outputs)
    }

    /// The connection is lost: subscriptions that wait go on, and all questions end without answers.
    package mutating func disconnected(_ outputs: inout [Output]) {
        isUp = false
        membership.disconnected()
        receivedByAll.forgetAll()
        for token in interests.byToken.keys.sorted() {
            interests.byToken[token]?.askedAt = nil
            interests.byToken[token]?.numbers.forgetAll()
            interests.byToken[token]?.members?.giveUp(askedUntil: .max)
            release(token, &outputs)
        }
        for result in questions.tick(at: .max) { outputs.append(.answered(result)) }
    }

    /// The server has acknowledged subscriptions.
    package mutating func granted(_ tokens: [UInt64], at now: Int64, _ outputs: inout [Output]) {
        self.now = max(self.now, now)
        for token in tokens where interests.byToken[token] != nil {
            interests.byToken[token]?.askedAt = nil
            // Only now: changes of the members that follow the answer are heard.
            for other in membership.nodes { askForMembers(token, other.epoch, &outputs) }
            release(token, &outputs)
        }
    }

    /// Time passes. Call it several times a second.
    package mutating func tick(at now: Int64, _ outputs: inout [Output]) {
        self.now = max(self.now, now)
        // This node was frozen, and what the others have sent meanwhile may still wait in a buffer.
        if isUp, self.now - tickedAt > heartbeatMilliseconds { membership.connected(at: self.now) }
        tickedAt = self.now
        apply(membership.tick(at: self.now), &outputs)
        sent.tick(at: self.now)
        localMembers.tick(at: self.now)
        if self.now - heartbeatAt >= heartbeatMilliseconds { sendHeartbeat(&outputs) }
        for token in interests.overdue(at: self.now) {
            interests.byToken[token]?.askedAt = nil
            interests.byToken[token]?.members?.giveUp(askedUntil: self.now - Interests.patience)
            release(token, &outputs)
        }
        for token in interests.expired(at: self.now) { leave(token, &outputs) }
        tickShares(&outputs)
        for result in questions.tick(at: self.now) { outputs.append(.answered(result)) }
    }

    /// Says goodbye: the others withdraw this node's members at once.
    package mutating func end(_ outputs: inout [Output]) { publish(.goodbye, on: subjects.nodes, &outputs) }

    private mutating func sendHeartbeat(_ outputs: inout [Output]) {
        heartbeatAt = now
        publish(.heartbeat(name: node.name, localMembers.recentVersions(at: now)), on: subjects.nodes, &outputs)
    }

    mutating func publish(_ body: ClusterMessage.Body, on subject: String, _ outputs: inout [Output]) {
        guard isUp else { return }
        var message = ClusterMessage(sender: node.epoch, body)
        (message.number, message.numberBefore) = sent.next(on: subject, at: now)
        outputs.append(.publish(subject: subject, message.bytes))
    }

    // MARK: What the hub does locally

    /// A connection of a loop wants to subscribe to a channel.
    /// - Returns: whether it may at once. Otherwise ``Output/ready(_:app:loop:)`` follows.
    package mutating func want(_ channel: ChannelName, app: AppIndex, loop: Int, at now: Int64, _ outputs: inout [Output]) -> Bool
    {
        self.now = max(self.now, now)
        let token = listen(to: Interests.Key(app: app, channel: channel), &outputs)
        guard interests.byToken[token]?.isReady != true else {
            // It keeps its subject until the subscription comes.
            if interests.byToken[token]?.idleSince != nil { interests.byToken[token]?.idleSince = self.now }
            return true
        }
        interests.byToken[token]?.waiting.insert(loop)
        return false
    }

    /// The token of a channel, to whose subject the node is subscribed from now on.
    private mutating func listen(to key: Interests.Key, _ outputs: inout [Output]) -> UInt64 {
        if let token = interests.tokens[key] { return token }
        let subject = subjects.channel(key.channel, app: rules[key.app].id)
        let token = interests.add(key, subject: subject, askedAt: isUp ? now : nil, at: now)
        outputs.append(.subscribe(subject: subject, token: token))
        return token
    }

    /// Something that other nodes must know has happened in the hub.
    package mutating func changed(_ change: Hub.ClusterChange, app: AppIndex, _ outputs: inout [Output]) {
        switch change {
        case .occupied(let channel):
            let token = listen(to: Interests.Key(app: app, channel: channel), &outputs)
            interests.byToken[token]?.idleSince = nil
        case .vacated(let channel):
            guard let token = interests.tokens[Interests.Key(app: app, channel: channel)] else { return }
            interests.byToken[token]?.idleSince = now
        case .memberJoined(let channel, let member):
            let version = localMembers.join(member, on: presence(channel, app), at: now)
            publish(.memberJoined(version: version, member), on: subjects.channel(channel, app: rules[app].id), &outputs)
            userChanged(member.id, isHere: true, on: channel, app: app, &outputs)
        case .memberLeft(let channel, let userID):
            let version = localMembers.leave(userID, on: presence(channel, app), at: now)
            publish(.memberLeft(version: version, userID: userID), on: subjects.channel(channel, app: rules[app].id), &outputs)
            userChanged(userID, isHere: false, on: channel, app: app, &outputs)
        case .count(let channel, let count): countChanged(count, on: channel, app: app, &outputs)
        case .relayed(let event, let channel, let sender, let userID):
            let frame = ServerMessage.clientEvent(event, channel: channel, userID: userID)
            published(frame, on: channel, app: app, except: sender, &outputs)
        }
    }

    private func presence(_ channel: ChannelName, _ app: AppIndex) -> PresenceChannel {
        PresenceChannel(app: rules[app].id, name: channel.text)
    }

    /// An event was published on this node.
    package mutating func published(
        _ frame: Frame, on channel: ChannelName, app: AppIndex, except: SocketID?, _ outputs: inout [Output]
    ) {
        publish(.event(frame: frame.bytes[...], except: except), on: subjects.channel(channel, app: rules[app].id), &outputs)
    }

    /// This node has committed something.
    package mutating func committed(_ record: [UInt8], position: Int64, _ outputs: inout [Output]) {
        publish(.commit(position: position, record: record[...]), on: subjects.nodes, &outputs)
    }

    /// The connections of a user are to be closed everywhere.
    package mutating func terminated(_ userID: String, app: AppIndex, _ outputs: inout [Output]) {
        publish(.terminate(app: rules[app].id, userID: userID), on: subjects.nodes, &outputs)
    }

    // MARK: Questions

    /// Asks all other nodes.
    /// - Returns: the question's ticket. ``Output/answered(_:)`` follows, or stands in `outputs` already.
    package mutating func ask(_ question: ClusterQuestion, at now: Int64, _ outputs: inout [Output]) -> UInt64 {
        self.now = max(self.now, now)
        let (ticket, result) = questions.ask(
            membership.nodes.map(\.epoch), endsWithFirst: question.endsWithFirst, at: self.now)
        if let result {
            outputs.append(.answered(result))
        } else if isUp {
            publish(.question(ticket: ticket, kind: question.kind, question.bytes[...]), on: subjects.nodes, &outputs)
        } else {
            for result in questions.tick(at: .max) { outputs.append(.answered(result)) }
        }
        return ticket
    }

    /// Answers another node's question.
    /// - Parameter parts: at least one.
    package mutating func answer(_ ticket: UInt64, to node: Epoch, _ parts: [[UInt8]], _ outputs: inout [Output]) {
        for (index, part) in parts.enumerated() {
            publish(
                .answer(ticket: ticket, isLast: index == parts.count - 1, part[...]), on: subjects.node(node), &outputs)
        }
    }

    // MARK: Messages

    /// A message has come.
    package mutating func received(_ payload: [UInt8], token: UInt64, at now: Int64, _ outputs: inout [Output]) {
        self.now = max(self.now, now)
        guard let message = ClusterMessage(payload) else {
            unreadableMessages += 1
            return
        }
        // Also if it was in a buffer while the node that sent it ended.
        guard !membership.hasEnded(message.sender), message.sender != node.epoch else { return }
        switch token {
        case Self.nodesToken:
            guard receivedByAll.receive(message) != .repeated else { return }
            receive(message, &outputs)
        case Self.nodeToken: receive(message, &outputs)
        default: receive(message, onChannel: token, &outputs)
        }
    }

    private mutating func receive(_ message: ClusterMessage, onChannel token: UInt64, _ outputs: inout [Output]) {
        guard let finding = interests.byToken[token]?.numbers.receive(message), finding != .repeated,
            let key = interests.byToken[token]?.key
        else { return }
        if finding == .gap { outputs.append(.gap(key.channel, app: key.app)) }
        switch message.body {
        case .event(let bytes, let except):
            let publication = Hub.Publication(channel: key.channel, frame: Frame(encoded: Array(bytes)))
            outputs.append(.hub(.publish([publication], app: key.app, except: except)))
        case .memberJoined(let version, let member):
            change(token, message.sender, version, .joined(member), &outputs)
        case .memberLeft(let version, let userID):
            change(token, message.sender, version, .left(userID: userID), &outputs)
        case .subscriptionCount(let count):
            outputs.append(.hub(.subscriptionCount(count, on: key.channel, app: key.app)))
        default: unreadableMessages += 1
        }
    }

    private mutating func receive(_ message: ClusterMessage, _ outputs: inout [Output]) {
        switch message.body {
        case .heartbeat(let name, let versions):
            apply(membership.heard(ClusterNode(name: name, epoch: message.sender), at: now), &outputs)
            for version in versions {
                guard let token = token(of: version.channel),
                    interests.byToken[token]?.members?.isBehind(message.sender, version: version.version) == true
                else { continue }
                askForMembers(token, message.sender, &outputs)
            }
            for token in interests.unanswered(by: message.sender) { askForMembers(token, message.sender, &outputs) }
        case .goodbye: apply(membership.left(message.sender, at: now), &outputs)
        case .commit(let position, let record): outputs.append(.commit(position: position, record: Array(record)))
        case .terminate(let app, let userID):
            guard let app = index(ofApp: app) else { return }
            outputs.append(.hub(.terminate(userID: userID, app: app)))
        case .membersQuestion(let ticket, let channel):
            let (version, members) = localMembers.members(of: channel)
            publish(.members(ticket: ticket, version, members), on: subjects.node(message.sender), &outputs)
        case .members(_, let version, let members):
            guard let token = token(of: version.channel),
                let changes = interests.byToken[token]?.members?.replace(message.sender, version: version.version, members)
            else { return }
            tell(changes, token, &outputs)
            release(token, &outputs)
        case .question(let ticket, let kind, let content):
            outputs.append(.question(ticket: ticket, from: message.sender, kind: kind, Array(content)))
        case .answer(let ticket, let isLast, let content):
            let result = questions.answer(ticket, from: message.sender, content, isLast: isLast)
            if let result { outputs.append(.answered(result)) }
        case .share(let key, let change, let keeper):
            applyShare(change, of: message.sender, to: key, keeper: keeper, &outputs)
        case .event, .memberJoined, .memberLeft, .subscriptionCount: unreadableMessages += 1
        }
    }

    private func token(of channel: PresenceChannel) -> UInt64? {
        guard let app = index(ofApp: channel.app), let name = ChannelName(channel.name, lengthMax: .max) else {
            return nil
        }
        return interests.tokens[Interests.Key(app: app, channel: name)]
    }

    // MARK: Members of other nodes

    private mutating func apply(_ changes: [Membership.Change], _ outputs: inout [Output]) {
        // One node comes or goes after the other. If a node has died and its successor is here already, somebody else must
        // tell what the dead one may not have told: the successor knows nothing.
        var present = nodesBefore(changes)
        for change in changes {
            let earlier = present
            switch change {
            case .came(let node):
                outputs.append(.came(node))
                present.append(node.epoch)
                reportMoved(from: earlier, to: present, &outputs)
                for token in interests.presenceTokens where interests.byToken[token]?.askedAt == nil {
                    askForMembers(token, node.epoch, &outputs)
                }
                // So that the new node need not wait for it.
                sendHeartbeat(&outputs)
            case .went(let node, let isOrderly):
                outputs.append(.went(node, isOrderly: isOrderly))
                present.removeAll { $0 == node.epoch }
                removeShares(of: node.epoch, isOrderly: isOrderly, from: earlier, to: present, &outputs)
                reportMoved(from: earlier, to: present, &outputs)
                receivedByAll.forget(node.epoch)
                for token in interests.byToken.keys.sorted() {
                    interests.byToken[token]?.numbers.forget(node.epoch)
                    tell(interests.byToken[token]?.members?.remove(node.epoch) ?? [], token, &outputs)
                    release(token, &outputs)
                }
                for result in questions.remove(node.epoch) { outputs.append(.answered(result)) }
            }
        }
    }

    /// The nodes that lived before these changes.
    private func nodesBefore(_ changes: [Membership.Change]) -> [Epoch] {
        var nodes = [node.epoch] + membership.nodes.map(\.epoch)
        for change in changes.reversed() {
            switch change {
            case .came(let node): nodes.removeAll { $0 == node.epoch }
            case .went(let node, _): nodes.append(node.epoch)
            }
        }
        return nodes
    }

    private mutating func askForMembers(_ token: UInt64, _ node: Epoch, _ outputs: inout [Output]) {
        guard isUp, let key = interests.byToken[token]?.key, interests.byToken[token]?.members != nil else { return }
        interests.byToken[token]?.members?.ask(node, at: now)
        publish(.membersQuestion(ticket: token, presence(key.channel, key.app)), on: subjects.node(node), &outputs)
    }

    private mutating func change(
        _ token: UInt64, _ node: Epoch, _ version: UInt64, _ change: RemoteMembers.Change, _ outputs: inout [Output]
    ) {
        // A node that is not known is asked when it comes. If it has died, nobody would withdraw its members.
        guard membership.lives(node) else { return }
        switch interests.byToken[token]?.members?.change(node, version: version, change) {
        case .changed(let changes)?: tell(changes, token, &outputs)
        case .missing?: askForMembers(token, node, &outputs)
        case nil: break
        }
    }

    private func tell(_ changes: [RemoteMembers.Change], _ token: UInt64, _ outputs: inout [Output]) {
        guard let key = interests.byToken[token]?.key else { return }
        for change in changes {
            switch change {
            case .joined(let member): outputs.append(.hub(.remoteMemberJoined(member, on: key.channel, app: key.app)))
            case .left(let userID): outputs.append(.hub(.remoteMemberLeft(userID: userID, on: key.channel, app: key.app)))
            }
        }
    }

    // MARK: Interest

    /// Lets the subscriptions to a channel go on, if nothing is missing any longer.
    private mutating func release(_ token: UInt64, _ outputs: inout [Output]) {
        guard let interest = interests.byToken[token], interest.isReady else { return }
        for loop in interest.waiting {
            outputs.append(.ready(interest.key.channel, app: interest.key.app, loop: loop))
        }
        interests.byToken[token]?.waiting = LoopSet()
        // It keeps its subject until the subscriptions come.
        if interest.idleSince != nil, !interest.waiting.isEmpty { interests.byToken[token]?.idleSince = now }
    }

    private mutating func leave(_ token: UInt64, _ outputs: inout [Output]) {
        guard let interest = interests.byToken[token] else { return }
        if interest.members != nil { outputs.append(.hub(.forgetRemoteMembers(on: interest.key.channel, app: interest.key.app))) }
        outputs.append(.unsubscribe(token: token))
        interests.remove(token)
    }
}
