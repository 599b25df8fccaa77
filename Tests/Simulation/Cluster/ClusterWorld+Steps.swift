import Cluster
import FanOut
import PusherProtocol

extension ClusterWorld {
    /// Performs one step and checks what follows from it.
    mutating func perform(_ step: ClusterStep) throws(Discrepancy) {
        switch step {
        case .open(let socket, let user, let index):
            seats[index].sockets.append((socket, user))
            seats[index].node?.apply(.opened(socket, app: 0))
            if let user = user.flatMap({ Self.signedIn($0, socket) }) { seats[index].node?.apply(.signin(socket, user)) }
            try collect(index)
        case .close(let socket, let index): try close(socket, on: index)
        case .subscribe(let socket, let channel, let userID, let index):
            guard let grant = Self.grant(channel, userID, socket) else { return }
            pending.append(Pending(socket: socket, channel: channel, userID: userID, at: now))
            seats[index].node?.subscribe(socket, grant, at: now)
            try collect(index)
        case .unsubscribe(let socket, let channel, let index):
            judge.left(socket, channel)
            model.remove(at: now) { $0.socket == socket && $0.channel == channel }
            pending.removeAll { $0.socket == socket && $0.channel == channel }
            seats[index].node?.unsubscribe(socket, from: channel)
            try collect(index)
        case .publish(let channel, let except, let index): try publish(channel, except, on: index)
        case .clientEvent(let socket, let channel, let index): try relay(socket, channel, on: index)
        case .terminate(let user, let index): try terminate(user, on: index)
        case .pause(let time): try advance(by: time)
        case .cut(let index, let time):
            summary.cuts += 1
            loseTraffic(of: index)
            bus.cut(index)
            setAway(index, true)
            schedule(.notice(index, life: seats[index].life), at: now + Int64(dice.within(0...3_000)))
            schedule(.connect(index, life: seats[index].life), at: now + time)
            faultsFrom = now + time + 8_000
        case .kill(let index, let time):
            summary.deaths += 1
            end(index)
            schedule(.revive(index), at: now + time)
            faultsFrom = now + time + 8_000
        case .freeze(let index, let time):
            summary.freezes += 1
            seats[index].isFrozen = true
            seats[index].frozenSince = now
            setAway(index, true)
            schedule(.thaw(index, life: seats[index].life), at: now + time)
            faultsFrom = now + time + 8_000
        case .settle: try settle()
        }
    }

    // MARK: For the workload

    /// The nodes that accept clients.
    var serving: [Int] {
        seats.indices.filter { seats[$0].node != nil && !seats[$0].isFrozen && seats[$0].acceptsAt <= now }
    }

    func vacantSlot(on index: Int) -> Int {
        let taken = Set(seats[index].sockets.map(\.socket.slot))
        return (0...taken.count).first { !taken.contains($0) } ?? 0
    }

    /// Whether a connection is subscribed to a channel, or waits for it.
    func asks(_ socket: SocketID, for channel: ChannelName) -> Bool {
        model.index(socket, channel) != nil || pending.contains { $0.socket == socket && $0.channel == channel }
    }

    // MARK: Events

    private mutating func publish(_ channel: ChannelName, _ except: SocketID?, on index: Int) throws(Discrepancy) {
        let number = judge.nextNumber()
        let frame = frames.event(number, on: channel)
        // A node that refuses has told nobody: then the event must reach nobody.
        let isRefused = seats[index].node?.isUp == false && scenario.refusesWhenPartitioned
        expect(number, channel, except, from: index, isRefused: isRefused)
        let isPublished = seats[index].node?.publish(frame, on: channel, except: except) == true
        if isPublished { summary.events += 1 }
        try collect(index)
    }

    private mutating func relay(_ socket: SocketID, _ channel: ChannelName, on index: Int) throws(Discrepancy) {
        guard let position = model.index(socket, channel) else { return }
        let number = judge.nextNumber()
        let event = frames.clientEvent(number, on: channel, userID: model[position].userID)
        expect(number, channel, socket, from: index, isRefused: false)
        seats[index].node?.apply(.clientEvent(socket, event, on: channel))
        summary.events += 1
        try collect(index)
    }

    private mutating func expect(
        _ number: Int, _ channel: ChannelName, _ except: SocketID?, from index: Int, isRefused: Bool
    ) {
        let reaches = seats.indices.map { !isRefused && ($0 == index || bus.isConnected($0) && bus.isConnected(index)) }
        judge.published(number, on: channel, sender: seats[index].life, except: except, at: now, model) {
            reaches[$0.node] && ($0.node == index || $0.isComplete)
        }
    }

    private mutating func terminate(_ user: String, on index: Int) throws(Discrepancy) {
        for seat in seats.indices where seat == index || bus.isConnected(seat) && bus.isConnected(index) {
            for (socket, owner) in seats[seat].sockets where owner == user { mustClose[socket] = (index, now) }
        }
        seats[index].node?.apply(.terminate(userID: user, app: 0))
        try collect(index)
    }

    // MARK: What backends sign

    private static func grant(_ channel: ChannelName, _ userID: String?, _ socket: SocketID) -> SubscriptionGrant? {
        let data = userID.map { #"{"user_id":"\#($0)"}"# }
        let request = SubscriptionRequest(channel: channel.text, auth: "key:signature", channelData: data)
        return try? request.grant(to: socket, key: "key", limits: Limits()) { _, _ in true }
    }

    private static func signedIn(_ id: String, _ socket: SocketID) -> SignedInUser? {
        let request = SigninRequest(auth: "key:signature", userData: #"{"id":"\#(id)"}"#)
        return try? request.user(on: socket, key: "key", limits: Limits()) { _, _ in true }
    }
}
