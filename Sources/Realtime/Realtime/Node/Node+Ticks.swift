import FanOut
import PusherProtocol
import Server
import Threads

/// What a loop does once a second. What concerns each of its connections is done in slices, with other work in between.
extension Node {
    /// The connections that a slice looks at. All of them may need a ping.
    private static let connectionsPerSlice = 256

    package func ticked() {
        _ = mayGoOn()
        heartbeat.beat()
        now += 1
        if index == 0 { apply(.tick(Int64(Clock.monotonicNanoseconds() / 1_000_000))) }
        if !isCheckingActivity { checkActivity(from: 0) }
        nodeExtension?.ticked()
        refuseUnansweredRequests()
        loopChooser.forgetRecent()
        fanOut.releaseMemory()
        _ = messages.releaseSpareCapacity()
        if index == 0 { reportToOperators() }
        overloadLog.tick(isAcceptPaused: budget.isExhausted, at: now)
    }

    /// Looks for connections that have been silent for long, ``connectionsPerSlice`` at a time.
    func checkActivity(from start: Int) {
        let end = min(start + Self.connectionsPerSlice, connections.count)
        for slot in start..<max(start, end) { checkActivity(slot) }
        isCheckingActivity = end < connections.count
        if isCheckingActivity { later(.checkActivity(from: end)) }
    }

    /// Pings an idle connection, or closes it if the client did not respond to the ping (protocol point P4).
    private func checkActivity(_ slot: Int) {
        guard let connection = connections[slot] else { return }
        let action = activityTimeout.action(silence: now - Int(connection.lastSeenAt), hasPinged: connection.hasBeenPinged)
        guard action != .wait, let socket = fanOut.socket(at: slot) else { return }
        switch action {
        case .wait: break
        case .ping:
            connections[slot]?.recordPing(now: Clock.monotonicNanoseconds())
            perform(.send(ServerMessage.ping, to: socket))
        case .close: loop?.close(socket, .pongNotReceived, reason: "Pong not received")
        }
    }
}
