import FanOut
import PusherProtocol

/// Nodes that come and go, and the members of presence channels that are connected to them.
extension ClusterLink {
    mutating func apply(_ changes: [Membership.Change], _ outputs: inout [Output]) {
        // One node comes or goes after the other. If a node has died and its successor is here already, another node must
        // tell what the dead one may not have told: the successor knows nothing.
        var present = nodesBefore(changes)
        for change in changes {
            let earlier = present
            switch change {
            case .came(let node):
                outputs.append(.came(node))
                present.append(node.epoch)
                moveShares(from: earlier, to: present, died: nil, &outputs)
                for token in interests.presenceTokens where interests[token]?.askedAt == nil {
                    askForMembers(token, node.epoch)
                }
                // So that the new node need not wait for it.
                sendHeartbeat(&outputs)
            case .went(let node, let isOrderly):
                outputs.append(.went(node, isOrderly: isOrderly))
                present.removeAll { $0 == node.epoch }
                moveShares(from: earlier, to: present, died: isOrderly ? nil : node.epoch, &outputs)
                sendDigests()
                receivedByAll.forget(node.epoch)
                receivedByThis.forget(node.epoch)
                receivedParts.forget(node.epoch)
                let unready = interests.unready
                for (token, changes) in interests.forget(node.epoch) { tell(changes, token, &outputs) }
                for token in unready { release(token, &outputs) }
                for result in questions.remove(node.epoch, isOrderly: isOrderly) { answered(result, &outputs) }
            }
        }
        tellIfLast(&outputs)
    }

    /// The nodes that lived before these changes.
    func nodesBefore(_ changes: [Membership.Change]) -> [Epoch] {
        var nodes = nodes
        for change in changes.reversed() {
            switch change {
            case .came(let node): nodes.removeAll { $0 == node.epoch }
            case .went(let node, _): nodes.append(node.epoch)
            }
        }
        return nodes
    }

    mutating func askForMembers(_ token: UInt64, _ node: Epoch) {
        guard isUp, let key = interests[token]?.key, interests[token]?.members != nil else { return }
        interests[token]?.members?.ask(node, at: now)
        publish(.membersQuestion(ticket: token, presence(key.channel, key.app)), to: node)
    }

    mutating func change(
        _ token: UInt64, _ node: Epoch, _ version: UInt64, _ change: RemoteMembers.Change, _ outputs: inout [Output]
    ) {
        // A node that is not known is asked when it comes. If it has died, nobody would withdraw its members.
        guard membership.lives(node) else { return }
        switch interests[token]?.members?.change(node, version: version, change) {
        case .changed(let changes)?: tell(changes, token, &outputs)
        case .missing?: askForMembers(token, node)
        case nil: break
        }
    }

    func tell(_ changes: [RemoteMembers.Change], _ token: UInt64, _ outputs: inout [Output]) {
        guard let key = interests[token]?.key, let isSignIns = interests[token]?.isSignIns else { return }
        for change in changes {
            switch change {
            case .joined(let member) where isSignIns:
                outputs.append(.hub(.remoteUser(userID: member.id, isOnline: true, app: key.app)))
            case .left(let userID) where isSignIns:
                outputs.append(.hub(.remoteUser(userID: userID, isOnline: false, app: key.app)))
            case .joined(let member): outputs.append(.hub(.remoteMemberJoined(member, on: key.channel, app: key.app)))
            case .left(let userID): outputs.append(.hub(.remoteMemberLeft(userID: userID, on: key.channel, app: key.app)))
            }
        }
    }
}
