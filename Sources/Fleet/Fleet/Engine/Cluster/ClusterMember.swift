/// The node of a cluster that uses the store.
package struct ClusterMember: Sendable {
    /// The node's name, for operators.
    package let name: String
    /// The node's life, unique for ever. A process begins a new one.
    package let epoch: String
    /// The position up to which the node has applied the log. Called on the writer's thread.
    package let applied: @Sendable () -> Int64

    package init(name: String, epoch: String, applied: @escaping @Sendable () -> Int64) {
        self.name = name
        self.epoch = epoch
        self.applied = applied
    }
}

/// An entry of the cluster's log: what one transaction of a node has changed that the others have in memory, or publish.
package struct LogEntry: Equatable, Sendable {
    /// 1 for the first entry; each later one adds 1.
    package let position: Int64
    /// ``CommitRecord/bytes(of:)``
    package let record: [UInt8]

    package init(position: Int64, record: [UInt8]) {
        self.position = position
        self.record = record
    }
}

/// An entry, by whose it is.
package enum LogItem: Equatable, Sendable {
    /// Of another node: its record is to be applied.
    case foreign(LogEntry)
    /// Of this node: the commit itself is to be published.
    case own(LogEntry)
}
