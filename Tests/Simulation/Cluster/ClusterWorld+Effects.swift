import FanOut
import PusherProtocol

/// What clients and backends notice, and whether they should.
extension ClusterWorld {
    mutating func notice(_ effect: SimulatedNode.Effect, of index: Int) throws(Discrepancy) {
        switch effect {
        case .joined(let socket, let channel, let members):
            try succeeded(socket, channel, on: index)
            try joined(socket, channel, members.map(\.id))
        case .frame(let frame, let socket):
            summary.trace.add(socket)
            summary.trace.add(frame)
            try received(frames.meaning(frame), socket, on: index)
        case .closed(let socket): try close(socket, on: index)
        case .webhook(let event):
            summary.trace.add("\(event)")
            try edges.told(event, isStrict: !scenario.hasOutages && !scenario.hasDeaths)
            summary.edges = edges.count
        case .came: break
        case .went(let node):
            guard seats[index].node?.isUp == true else {
                throw Discrepancy("n\(index) has declared \(node.name) dead while it is disconnected")
            }
        }
    }

    private mutating func received(
        _ meaning: ClusterFrames.Meaning?, _ socket: SocketID, on index: Int
    ) throws(Discrepancy) {
        switch meaning {
        case .succeeded(let channel): try succeeded(socket, channel, on: index)
        case .event(let number):
            // After a freeze, what has come meanwhile is delivered. After an outage, nothing of it is.
            let earliest = (seats[index].frozenSince ?? now) - ClusterScenario.transitMax
            try judge.received(number, socket, earliest: earliest, model)
            summary.delivered = judge.delivered
        case .added(let channel, let userID): try added(userID, channel, to: socket)
        case .removed(let channel, let userID): try removed(userID, channel, from: socket, on: index)
        case .count(let channel, let count):
            if let position = model.index(socket, channel) { model[position].count = count }
        case nil: break
        }
    }

    // MARK: Subscriptions

    private mutating func succeeded(_ socket: SocketID, _ channel: ChannelName, on index: Int) throws(Discrepancy) {
        guard let position = pending.firstIndex(where: { $0.socket == socket && $0.channel == channel }) else {
            throw Discrepancy("\(socket) was subscribed to \(channel.text) without having asked")
        }
        let request = pending.remove(at: position)
        // A node that is cut off, or was while this subscription waited, or has waited for a second, goes on without the
        // acknowledgement.
        let isComplete =
            seats[index].node?.isUp == true && bus.isConnected(index) && request.at >= seats[index].awayUntil
            && now - request.at < 1_000
        model.add(
            ClusterModel.Subscription(
                socket: socket, node: index, channel: channel, userID: request.userID, since: now, isComplete: isComplete),
            at: now)
        summary.successes += 1
    }

    private mutating func joined(_ socket: SocketID, _ channel: ChannelName, _ members: [String]) throws(Discrepancy) {
        guard let position = model.index(socket, channel) else { return }
        guard Set(members).count == members.count else {
            throw Discrepancy("\(socket) got a member of \(channel.text) twice: \(members)")
        }
        model[position].members = Set(members)
        guard let userID = model[position].userID, members.contains(userID) else {
            throw Discrepancy("\(socket) is not in its own list of \(channel.text)")
        }
    }

    private mutating func added(_ userID: String, _ channel: ChannelName, to socket: SocketID) throws(Discrepancy) {
        guard let position = model.index(socket, channel) else {
            throw Discrepancy("\(socket) was told of \(userID) on \(channel.text) without a subscription")
        }
        guard model[position].members.insert(userID).inserted else {
            throw Discrepancy("\(socket) was told twice in a row that \(userID) came to \(channel.text)")
        }
    }

    private mutating func removed(
        _ userID: String, _ channel: ChannelName, from socket: SocketID, on index: Int
    ) throws(Discrepancy) {
        guard let position = model.index(socket, channel) else {
            throw Discrepancy("\(socket) was told of \(userID) on \(channel.text) without a subscription")
        }
        guard model[position].members.remove(userID) != nil else {
            throw Discrepancy("\(socket) was told that \(userID) left \(channel.text), who was not there")
        }
        // If the news of a user's other connection was lost, nobody can know better.
        guard scenario.dropsOneIn == nil else { return }
        let isOtherAway = seats.indices.contains { $0 != index && (isAway($0) || now - seats[$0].awayUntil < 12_000) }
        // What happened while this node was away, it learns afterwards.
        let isBack = isAway(index) || now - seats[index].awayUntil < 12_000
        let known = seats[index].wentAt - ClusterScenario.transitMax
        let isUnknown = model.subscribers(of: channel).allSatisfy { $0.userID != userID || $0.node != index && $0.since > known }
        guard isOtherAway || isBack && isUnknown || model.wasAbsent(userID, channel, since: now - (isBack ? 30_000 : 1_000))
        else {
            throw Discrepancy("\(socket) was told that \(userID) left \(channel.text), who has not")
        }
    }

    // MARK: Connections

    mutating func close(_ socket: SocketID, on index: Int) throws(Discrepancy) {
        guard seats[index].sockets.contains(where: { $0.socket == socket }) else { return }
        seats[index].sockets.removeAll { $0.socket == socket }
        forget(socket)
        seats[index].node?.apply(.closed(socket))
        try collect(index)
    }
}
