import HTTP
import PusherProtocol
import Server

/// What a loop does when the process was stopped for so long that the other nodes of the cluster have given it up.
extension Node {
    /// Whether the loop may handle what it has got. If not, all connections are closed at the end of this turn.
    func mayGoOn() -> Bool {
        guard let life = cluster?.life else { return true }
        if life.mayGoOn(), !isVoid { return true }
        closeAll()
        return false
    }

    /// Closes the WebSockets, once. What their clients have sent is ignored, and what waits for them is dropped.
    private func closeAll() {
        guard !isVoid else { return }
        isVoid = true
        for slot in connections.indices where connections[slot] != nil {
            guard let socket = fanOut.socket(at: slot) else { continue }
            loop?.close(socket, .restart, reason: "The node was away: connect again")
        }
    }

    /// At the end of a turn: whether all connections are closed.
    func reportIfClosed() {
        guard isVoid, !hasReportedClosed, connections.allSatisfy({ $0 == nil }), let life = cluster?.life else { return }
        hasReportedClosed = true
        life.recordClosed()
    }

    /// The node's next life has begun.
    func beginLife() { (isVoid, hasReportedClosed) = (false, false) }

    static let notAlive = HTTPResponse.text(503, "The node was away: try again", headers: ["Retry-After": "1"])
}
