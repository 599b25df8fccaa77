import Access
import FanOut
import Fleet
import PusherAPI
import PusherProtocol
import Threads

/// Guaranteed delivery on this loop: see ``ReplayLoop``.
extension FleetNode: ReplayLoop {
    var index: Int { node.index }
    var unixTime: Int64 { Clock.unixMilliseconds() }
    var confirmSeconds: Int { fleet.confirmSeconds }

    var fanOut: LoopFanOut {
        _read { yield node.fanOut }
        _modify { yield &node.fanOut }
    }

    func apply(_ input: Hub.Input) { node.apply(input) }

    func ownership(of socket: SocketID, on channel: ChannelName) -> FleetAccess.Ownership? {
        node.hub.read { $0.ownership(of: socket, on: channel) }
    }

    func isFull(_ socket: SocketID) -> Bool { node.loop?.isFull(socket) == true }

    func send(_ frame: Frame, to socket: SocketID) { node.send(frame, to: socket) }

    func post(_ request: CursorRequest) -> PostResult { fleet.post(request) }

    func post(_ receipts: [Receipt]) -> PostResult { fleet.post(receipts) }

    func post(_ request: ReplayRequest) -> Bool { fleet.post(request) }

    func countReplay(notifications: Int, gaps: Int) {
        node.loopMetrics.add(notifications, to: .replayedNotifications)
        node.loopMetrics.add(gaps, to: .gaps)
    }

    func countDropped(receipts count: Int) { node.metrics.countLimited(.receipts, count) }

    // MARK: Subscriptions

    func takes(_ socket: SocketID, _ grant: SubscriptionGrant, to app: Application) -> Bool {
        guard app.index == fleet.app, fleet.policy.owner(of: grant.channel) != nil else { return false }
        subscribe(socket, grant, isDurable: true)
        return true
    }

    func perform(_ instruction: Instruction) { deliver(instruction) }

    func fanOutDirect(_ frame: Frame, to socket: SocketID) { node.fanOutDirect(frame, to: socket) }

    func opened(_ socket: SocketID, _ channel: ChannelName, of app: Application) {
        if app.index == fleet.app, fleet.trips.sendLocation(to: socket, on: channel, loop: index) { node.drainMailbox() }
    }

    func cancels(_ socket: SocketID, _ channel: ChannelName) -> Bool { loopReplay.cancelOpening(socket, channel) }

    func closed(_ socket: SocketID) { loopReplay.receipts += loopReplay.table.close(socket.slot) }

    // MARK: Writing

    var hasMarks: Bool { loopReplay.table.isAnyOwed }

    func pongReceived(from socket: SocketID, _ payload: UnsafeRawBufferPointer) { confirm(socket, payload) }
}
