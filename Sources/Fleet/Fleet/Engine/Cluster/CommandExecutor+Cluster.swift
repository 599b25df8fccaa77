import Threads

/// What the executor does as a node of a cluster: it goes on where the last transaction of any node has ended.
extension CommandExecutor {
    /// Calls `body`, which reads what the process has in memory, and writes what is to be done at the start. In a cluster
    /// all of it is one transaction, so that no other node changes anything between two reads; what they change later is in
    /// the log. Then other nodes may start.
    func setUp(_ body: (CommandExecutor) throws(DatabaseError) -> Void) throws(DatabaseError) {
        guard let clusterLog else { return try body(self) }
        try transaction { () throws(DatabaseError) in
            isSettingUp = true
            defer { isSettingUp = false }
            try body(self)
            try clusterLog.recordNode(written: nil)
        }
        _ = clusterLog.take()
        try database.server?.admitNodes()
    }

    /// Whether this node does what must not be done twice. True if there is no cluster.
    var isLeader: Bool { clusterLog?.isLeader ?? true }

    /// Whether no other process may have published, sent or begun anything: what is left over is of processes that have
    /// ended.
    package var isAlone: Bool { clusterLog?.isFirst ?? true }

    /// The position of the log when the transaction that runs began; 0 if there is no cluster.
    package var logPosition: Int64 { clusterLog?.position ?? 0 }

    func beginInCluster() throws(DatabaseError) {
        guard let clusterLog else { return }
        guard
            let (head, isNewLeader) = try clusterLog.begin(
                wall: readClock().wall, monotonic: Clock.monotonicMilliseconds())
        else { return }
        planner.ids.advance(to: head.notificationID)
        auditIDs.advance(to: head.auditID)
        outbox.advanceNumbers(to: head.pushNumber)
        // Other nodes have added to what is counted here.
        strayCounts.removeAll()
        responseCounts.removeAll()
        if isNewLeader { try takeOver() }
    }

    func endInCluster() throws(DatabaseError) {
        try clusterLog?.end(
            notificationID: planner.ids.lastID ?? "", auditID: auditIDs.lastID ?? "", pushNumber: outbox.lastNumber)
    }

    /// The time of the transaction that runs, in milliseconds since 1970: the database's, or `now` if there is no cluster.
    /// A time that was read before the transaction may be older than that of another node's later transaction.
    func transactionTime(or now: Int64) -> Int64 { clusterLog?.now ?? now }

    /// Records what is published.
    func record(_ published: Published) throws(DatabaseError) {
        guard let clusterLog else { return try publication.record(published) }
        if let position = published.position { try clusterLog.recordNode(written: position) }
        for id in published.recovered { try publication.forget(id) }
    }

    /// Adds a commit to the log, if it has something for other nodes. Call it last in its transaction.
    func log(_ commit: Commit) throws(DatabaseError) {
        guard let clusterLog, let record = CommitRecord.bytes(of: commit) else { return }
        try clusterLog.append(record)
    }

    /// Goes on with what the node that led before had begun.
    private func takeOver() throws(DatabaseError) {
        declare(BackgroundTask.takeover.rows)
        try outbox.takeOver()
        backgroundTasks = Set(BackgroundTask.allCases)
    }
}
