import Observability
import Server

/// What a node bounds beside its loop.
extension Limit {
    /// Subscribe, unsubscribe, sign in.
    static let commandsPerSecond = Self("commands_per_second")
    static let connections = Self("connections")
    /// The queue of lists.
    static let channelQueriesQueue = Self("channel_queries_queue")
    /// Publishes that were refused while the other nodes of the cluster could not be reached (`cluster.on_partition`).
    static let clusterPartition = Self("cluster_partition")

    /// All limits of the server, in the order of their samples in `/metrics`.
    package static let ofServer = [
        connectionsPerIP, handshakesPerIP, bufferBytes, outgoingBytes, messagesPerSecond, commandsPerSecond, connections,
        channelQueriesQueue, clusterPartition, headBytes, bodyBytes, discardedBytes, requestSeconds,
    ]
}
