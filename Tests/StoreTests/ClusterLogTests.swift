import Testing

@testable import Fleet

/// Nodes whose log has lost its oldest entries: the leader deletes them after ``ClusterLog/keptMilliseconds``.
@Suite(.postgresOnly) struct ClusterLogTests {
    private let store = TemporaryStore()

    private func node(_ epoch: String) throws -> CommandExecutor {
        let executor = try store.executor { $0.member = ClusterMember(name: "n\(epoch)", epoch: epoch, applied: { 0 }) }
        try executor.setUp { _ in }
        return executor
    }

    /// Adds an entry to the log.
    private func append(_ record: UInt8, by node: CommandExecutor) throws {
        try node.transaction { () throws(DatabaseError) in try node.clusterLog?.append([record]) }
    }

    private func deleteEntries(upTo position: Int64, by node: CommandExecutor) throws {
        try node.transaction { () throws(DatabaseError) in
            try node.database.change("DELETE FROM cluster_log WHERE position <= ?", .integer(position))
        }
    }

    /// What the node has read of the log with its next transaction.
    private func read(_ node: CommandExecutor) throws -> [LogItem] {
        try node.transaction { () throws(DatabaseError) in }
        return node.clusterLog?.take() ?? []
    }

    @Test(arguments: [2, 3]) func aNodeStartsBesideOthersBehindTheHead(deleted: Int64) throws {
        let first = try node("1")
        for record in 1...3 as ClosedRange<UInt8> { try append(record, by: first) }
        try deleteEntries(upTo: deleted, by: first)
        let second = try node("2")
        #expect(try read(second) == [], "it has read the tables")
        try append(4, by: first)
        #expect(try read(second) == [.foreign(LogEntry(position: 4, record: [4]))])
        try append(5, by: second)
        #expect(try read(first).suffix(1) == [.foreign(LogEntry(position: 5, record: [5]))])
    }

    @Test func aNodeStartsAfterAStopOfAll() throws {
        do {
            let first = try node("1")
            for record in 1...3 as ClosedRange<UInt8> { try append(record, by: first) }
            try deleteEntries(upTo: 2, by: first)
        }
        let second = try node("2")
        try append(4, by: second)
        #expect(second.clusterLog?.take() == [.own(LogEntry(position: 4, record: [4]))])
    }

    /// What it has in memory is out of date, and the log no longer says what it has missed.
    @Test func aNodeThatWasAwayForLongSaysSo() throws {
        let (first, second) = (try node("1"), try node("2"))
        for record in 1...3 as ClosedRange<UInt8> { try append(record, by: first) }
        try deleteEntries(upTo: 2, by: first)
        let error = #expect(throws: DatabaseError.self) { try read(second) }
        #expect(error?.message.hasPrefix("the cluster's log no longer has") == true && error?.isTransient == true)
    }
}

/// Who reads "in use" looks for another process.
@Suite struct InUseTests {
    private let server = StoreAddress.postgres("postgresql://ann@db/fleet")

    @Test func onlyALockThatAnotherGatewayHoldsIsInUse() {
        let locked = DatabaseError(.inUse, code: "PostgreSQL error", message: "m", doing: "d")
        #expect(StoreError(locked, server) == .inUse(server, by: nil))
        let waited = DatabaseError(sqlState: "55P03", message: "canceling statement due to lock timeout", doing: "d")
        let text = "\(StoreError(waited, server))"
        #expect(text.hasPrefix("use postgresql://ann@db/fleet: ") && text.contains("due to lock timeout"))
        #expect(StoreError(waited, .file("/f")) == .inUse(.file("/f"), by: nil), "SQLite's lock is held by a process")
    }

    @Test(.postgresOnly) func aMissingSchemaIsNamed() throws {
        guard case .postgres(let uri) = TemporaryStore().address else { return }
        let address = StoreAddress.postgres(uri)
        let error = #expect(throws: StoreError.self) { try Database.open(address, durability: .normal, now: noon) }
        #expect(error?.description.contains("no schema of the search_path exists") == true)
    }
}
