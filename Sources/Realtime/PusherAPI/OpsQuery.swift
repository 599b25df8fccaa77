import FanOut
import PusherProtocol

/// A query of operators for what the hub knows.
package enum OpsQuery: Sendable {
    /// Connections, newest first; in a cluster those of all nodes, if that is wanted.
    case connections(Hub.ConnectionFilter, before: ConnectionCursor?, limit: Int, ofCluster: Bool)
    /// Channels with subscribers, those with the most recent events first.
    case channels(prefix: String, limit: Int)
}

/// Where a page of connections begins.
package enum ConnectionCursor: Equatable, Sendable {
    /// Behind this connection, which must be open.
    case socket(SocketID)
    /// The `next` of the page before.
    case position(Hub.ConnectionPosition)
    /// The `next` of the page before, of all nodes of a cluster.
    case positionInCluster(Hub.ConnectionPosition)

    /// Nil if the text is none of these.
    package init?(_ text: String) {
        if let socket = SocketID(text) {
            self = .socket(socket)
        } else if let position = Hub.ConnectionPosition(text) {
            self = .position(position)
        } else if text.utf8.starts(with: Self.clusterPrefix.utf8),
            let position = Hub.ConnectionPosition(Substring(text.utf8.dropFirst(Self.clusterPrefix.utf8.count)))
        {
            self = .positionInCluster(position)
        } else {
            return nil
        }
    }

    /// Stands before a position of all nodes: a position of one node is of another clock.
    private static let clusterPrefix = "all-"

    /// The `next` of a page of all nodes.
    package static func next(inCluster position: Hub.ConnectionPosition) -> String { "\(clusterPrefix)\(position)" }
}
