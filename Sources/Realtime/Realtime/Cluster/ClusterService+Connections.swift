import Cluster
import FanOut
import PusherProtocol

/// The list of all nodes' connections.
extension ClusterService {
    /// Lists this node's connections behind a position. The last argument gets the report.
    /// - Returns: false if too many lists wait.
    typealias ConnectionList =
        @Sendable (
            Hub.ConnectionFilter, Hub.ConnectionPosition?, _ limit: Int, @escaping @Sendable (ConnectionReport) -> Void
        ) -> Bool

    /// Where a connection of this node is in the list; nil if there is none.
    func position(of socket: SocketID) -> Hub.ConnectionPosition? {
        hub.read { $0.position(of: socket) }?.advanced(by: unixMinusMonotonic)
    }

    /// Finds out where a connection is in the list, on whichever node it is.
    /// - Parameter answered: gets nil if it has closed, and `isCertain` is false if it may be on a node that has not answered.
    func find(
        _ socket: SocketID, _ answered: @escaping @Sendable (_ position: Hub.ConnectionPosition?, _ isCertain: Bool) -> Void
    ) {
        if let position = position(of: socket) { return answered(position, true) }
        ask(.position(socket)) { result in
            let positions = result.answers.compactMap { Hub.ConnectionPosition(String(decoding: $0, as: UTF8.self)) }
            answered(positions.first, result.isComplete)
        }
    }

    /// This node's part of a page.
    /// - Parameter listed: gets it, on any thread.
    /// - Returns: false if too many lists wait.
    func list(_ search: ConnectionSearch, _ listed: @escaping @Sendable (ConnectionPage) -> Void) -> Bool {
        guard let list = sources.withLock({ $0 })?.connections else { return false }
        let (node, apps, unixMinusMonotonic) = (node.name, apps, unixMinusMonotonic)
        return list(search.filter, search.after?.advanced(by: -unixMinusMonotonic), search.limit) { report in
            listed(report.page(of: node, apps: apps, unixMinusMonotonic: unixMinusMonotonic))
        }
    }

    /// A page of the list.
    /// - Parameter answered: gets nil if a node has not answered.
    /// - Returns: false if too many lists wait.
    func page(_ search: ConnectionSearch, _ answered: @escaping @Sendable (ConnectionPage?) -> Void) -> Bool {
        list(search) { own in
            self.ask(.connections(search)) { result in
                let others = result.answers.compactMap { ConnectionPage($0) }
                guard result.isComplete, others.count == result.answers.count else { return answered(nil) }
                answered(ConnectionPage(joining: [own] + others, limit: search.limit))
            }
        }
    }
}
