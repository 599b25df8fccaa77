import Access
import FanOut
import PusherProtocol
import Realtime
import Threads

/// What the fleet tells of connections and channels, or publishes on them. It has the order rule and the cluster's order of
/// all other inputs.
extension SharedHub {
    /// Applies an input of the fleet. Any thread may call it.
    func apply(_ input: FleetInput) {
        var woken = ThreadsToWake()
        change(&woken) { $0.apply(input, &$1) }
        wake(woken)
    }

    /// Applies an input that another node has sent, if it has one of this node's connections.
    /// - Returns: whether it has.
    func apply(_ input: FleetInput, ifHere socket: SocketID) -> Bool {
        var woken = ThreadsToWake()
        let isHere = state.withLock { state in
            guard state.hub.hasConnection(socket) else { return false }
            change(&state, &woken) { $0.apply(input, &$1) }
            return true
        }
        wake(woken)
        return isHere
    }

    /// Publishes committed events, then records the job's assignment. Any thread may call it. It ignores ``hasRoom``,
    /// which was checked before the command was accepted: committed events must be published.
    /// - Returns: of each notification, whether a connection was subscribed to its channel.
    @discardableResult
    func publish(
        _ notifications: [FleetAccess.Notification], assignment: FleetAccess.JobAssignment?, app: AppIndex
    ) -> [Bool] {
        guard !notifications.isEmpty || assignment != nil else { return [] }
        let takenAt = Clock.monotonicNanoseconds()
        var woken = ThreadsToWake()
        var areHeard: [Bool] = []
        state.withLock { state in
            if !notifications.isEmpty {
                areHeard = notifications.map { notification in
                    notification.publications.contains { state.hub.isOccupied($0.channel, app: app) }
                }
                state.reached = LoopSet()
                change(&state, &woken) { $0.apply(.notify(notifications, app: app), &$1) }
                measure(takenAt, &state, &woken)
            }
            if let assignment { change(&state, &woken) { $0.apply(.assignment(assignment, app: app), &$1) } }
        }
        wake(woken)
        return areHeard
    }
}
