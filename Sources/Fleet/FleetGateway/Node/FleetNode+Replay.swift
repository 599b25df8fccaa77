import FanOut
import Fleet
import PusherAPI
import PusherProtocol
import Realtime
import Threads

/// Guaranteed delivery on this loop: performs what ``OwnerReplay`` decides.
extension FleetNode {
    /// Changes the replay, and performs the effects.
    func replay(_ change: (inout OwnerReplay, inout [OwnerReplay.Effect]) -> Void) {
        var effects: [OwnerReplay.Effect] = []
        change(&ownerReplay, &effects)
        for effect in effects { perform(effect) }
    }

    private func perform(_ effect: OwnerReplay.Effect) {
        switch effect {
        case .store(let receipts):
            let dropped = ownerReplay.receiptsPosted(areQueued: fleet.post(receipts) == .queued)
            if dropped > 0 { node.metrics.countLimited(.receipts, dropped) }
        case .findCursor(let request):
            if fleet.post(request) != .queued { ownerReplay.failed(request.replyTo.request) }
        case .open(let socket, let grant):
            node.apply(.subscribe(socket, grant))
            ownerReplay.opened()
        case .readPage(let request, let socket):
            let isPosted = node.loop?.isFull(socket) != true && fleet.post(request)
            if !isPosted { ownerReplay.failed(request.replyTo.request) }
        case .send(let frame, let socket): node.fanOutDirect(frame, to: socket)
        case .count(let notifications, let gaps):
            node.loopMetrics.add(notifications, to: .replayedNotifications)
            node.loopMetrics.add(gaps, to: .gaps)
        }
    }

    /// Repeats some of what the store could not take before the last tick; the rest later.
    func repeatRequests() {
        for _ in 0..<OwnerReplay.repeatedMax { replay { $0.repeatRequest(&$1) } }
        if ownerReplay.hasRequestsToRepeat { later(.repeatRequests) }
    }

    // MARK: Subscriptions

    func takes(_ socket: SocketID, _ grant: SubscriptionGrant, to app: Application) -> Bool {
        guard app.index == fleet.app, fleet.policy.owner(of: grant.channel) != nil,
            let ownership = node.hub.read({ $0.ownership(of: socket, on: grant.channel) })
        else { return false }
        replay { $0.subscribe(socket, grant, as: ownership, &$1) }
        return true
    }

    func perform(_ instruction: Instruction) { replay { $0.deliver(instruction, to: &node.fanOut, &$1) } }

    func opened(_ socket: SocketID, _ channel: ChannelName, of app: Application) {
        if app.index == fleet.app, fleet.trips.sendLocation(to: socket, on: channel, loop: index) { node.drainMailbox() }
    }

    func cancels(_ socket: SocketID, _ channel: ChannelName) -> Bool { ownerReplay.cancel(socket, channel) }

    func closed(_ socket: SocketID) { ownerReplay.closed(socket) }

    // MARK: Writing

    var hasMarks: Bool { ownerReplay.table.isAnyOwed }

    func marked(_ frame: Frame, to socket: SocketID) -> Frame {
        ownerReplay.marked(frame, to: socket, now: Clock.unixMilliseconds(), using: &random)
    }

    func pongReceived(from socket: SocketID, _ payload: UnsafeRawBufferPointer) {
        ownerReplay.confirm(socket, payload, now: Clock.unixMilliseconds())
    }
}
