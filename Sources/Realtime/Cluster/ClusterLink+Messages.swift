import FanOut
import PusherProtocol

/// What other nodes tell and ask, and what they are asked.
extension ClusterLink {
    // MARK: Questions

    /// Asks all other nodes.
    /// - Returns: the question's ticket. ``Output/answered(_:)`` follows, or stands in `outputs` already.
    package mutating func ask(_ question: ClusterQuestion, at now: Int64, _ outputs: inout [Output]) -> UInt64 {
        self.now = max(self.now, now)
        let (ticket, result) = questions.ask(
            membership.nodes.map(\.epoch), endsWithFirst: question.endsWithFirst, haveAllBeenAsked: !membership.hasLost,
            at: self.now)
        if let result {
            answered(result, &outputs)
        } else if isUp {
            publish(.question(ticket: ticket, kind: question.kind, question.bytes[...]), on: subjects.nodes, &outputs)
        } else {
            for result in questions.tick(at: .max) { answered(result, &outputs) }
        }
        return ticket
    }

    mutating func answered(_ result: Questions.Result, _ outputs: inout [Output]) {
        if let token = cacheTickets.removeValue(forKey: result.ticket) {
            cacheAnswered(result, token, &outputs)
        } else {
            outputs.append(.answered(result))
        }
    }

    /// Answers another node's question.
    /// - Parameter parts: at least one.
    package mutating func answer(_ ticket: UInt64, to node: Epoch, _ parts: [[UInt8]]) {
        for (index, part) in parts.enumerated() {
            publish(.answer(ticket: ticket, isLast: index == parts.count - 1, part[...]), to: node)
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
        guard message.sender != node.epoch else { return }
        // Also if it was in a buffer while the node that sent it ended.
        guard !membership.hasEnded(message.sender) || message.body.isLastWord else { return }
        switch token {
        case Self.nodesToken:
            guard receivedByAll.receive(message) != .repeated else { return }
            receive(message.body, from: message.sender, &outputs)
        case Self.nodeToken:
            // A gap needs nothing: the next digest shows whether a share was lost.
            guard receivedByThis.receive(message) != .repeated else { return }
            unpack(message.body, from: message.sender, &outputs)
        default: receive(message, onChannel: token, &outputs)
        }
    }

    private mutating func unpack(_ body: ClusterMessage.Body, from sender: Epoch, _ outputs: inout [Output]) {
        switch body {
        case .several(let bodies):
            for body in bodies where !membership.hasEnded(sender) || body.isLastWord { receive(body, from: sender, &outputs) }
        case .part(let number, let index, let isLast, let bytes):
            let whole = receivedParts.receive(bytes, of: number, index: index, isLast: isLast, from: sender, at: now)
            guard let whole else {
                if isLast { unreadableMessages += 1 }
                return
            }
            guard let message = ClusterMessage(whole), message.sender == sender, message.body.kind != .part else {
                unreadableMessages += 1
                return
            }
            unpack(message.body, from: sender, &outputs)
        default: if !membership.hasEnded(sender) || body.isLastWord { receive(body, from: sender, &outputs) }
        }
    }

    mutating func receive(_ message: ClusterMessage, onChannel token: UInt64, _ outputs: inout [Output]) {
        guard let (finding, key) = interests.receive(message, token: token), finding != .repeated else { return }
        if finding == .gap { outputs.append(.gap(key.channel, app: key.app)) }
        switch message.body {
        case .event(let bytes, let except):
            let publication = Hub.Publication(channel: key.channel, frame: Frame(encoded: Array(bytes)))
            outputs.append(.hub(.publish([publication], app: key.app, except: except)))
        case .clientEvent(let bytes, let sender):
            let publication = Hub.Publication(channel: key.channel, frame: Frame(encoded: Array(bytes)))
            outputs.append(.hub(.remoteClientEvent(publication, app: key.app, from: sender)))
        case .memberJoined(let version, let member):
            change(token, message.sender, version, .joined(member), &outputs)
        case .memberLeft(let version, let userID):
            change(token, message.sender, version, .left(userID: userID), &outputs)
        case .subscriptionCount(let count):
            outputs.append(.hub(.subscriptionCount(count, on: key.channel, app: key.app)))
        default: unreadableMessages += 1
        }
    }

    private mutating func receive(_ body: ClusterMessage.Body, from sender: Epoch, _ outputs: inout [Output]) {
        switch body {
        case .heartbeat(let name, let versions):
            // It lives, and does not know that this node has told edges in its place.
            if membership.isLost(sender, at: now) { publish(.gaveUp, to: sender) }
            apply(membership.heard(ClusterNode(name: name, epoch: sender), at: now), &outputs)
            for version in versions {
                guard let token = token(of: version.channel),
                    interests[token]?.members?.isBehind(sender, version: version.version) == true
                else { continue }
                askForMembers(token, sender)
            }
            for token in interests.unanswered(by: sender) { askForMembers(token, sender) }
        case .goodbye: apply(membership.left(sender, at: now), &outputs)
        case .logged(let position, let entry): outputs.append(.logged(position: position, entry: Array(entry)))
        case .terminate(let app, let userID):
            guard let app = index(ofApp: app) else { return }
            outputs.append(.hub(.terminate(userID: userID, app: app)))
        case .membersQuestion(let ticket, let channel):
            let (version, members) = localMembers.members(of: channel)
            publish(.members(ticket: ticket, version, members), to: sender)
        case .members(_, let version, let members): receive(members, version, from: sender, &outputs)
        case .question(let ticket, let kind, let content):
            outputs.append(.question(ticket: ticket, from: sender, kind: kind, Array(content)))
        case .answer(let ticket, let isLast, let content):
            let result = questions.answer(ticket, from: sender, content, isLast: isLast)
            if let result { answered(result, &outputs) }
        case .sharesQuestion: reportAll(to: sender, &outputs)
        case .note(let note): outputs.append(.note(note))
        case .share(let key, let change, let report): applyShare(change, of: sender, to: key, report, &outputs)
        case .sharesBegin: kept.beginWhole(of: sender)
        case .sharesEnd(let count): endWholeShares(of: sender, count: count, &outputs)
        case .sharesDigest(let digest): compareShares(digest, of: sender)
        case .handOver(let key, let facts): receive(facts, of: key, &outputs)
        case .gaveUp: beginAnew(&outputs)
        case .cached(let key, let left, let frame):
            guard let app = index(ofApp: key.app), let channel = ChannelName(key.channel, lengthMax: .max) else { return }
            outputs.append(.hub(.cache(Frame(encoded: Array(frame)), millisecondsLeft: left, on: channel, app: app)))
        case .event, .clientEvent, .memberJoined, .memberLeft, .subscriptionCount, .several, .part: unreadableMessages += 1
        }
    }

    private mutating func receive(
        _ members: [PresenceMember], _ version: PresenceVersion, from sender: Epoch, _ outputs: inout [Output]
    ) {
        guard let token = token(of: version.channel),
            let changes = interests[token]?.members?.replace(sender, version: version.version, members)
        else { return }
        tell(changes, token, &outputs)
        if interests[token]?.isSignIns == false, let time = interests[token]?.members?.takeSyncTime(at: now) {
            outputs.append(.synchronized(milliseconds: time))
        }
        release(token, &outputs)
    }

    func token(of channel: PresenceChannel) -> UInt64? {
        guard let app = index(ofApp: channel.app), let name = ChannelName(ofNode: channel.name) else { return nil }
        return interests.tokens[Interests.Key(app: app, channel: name)]
    }
}
