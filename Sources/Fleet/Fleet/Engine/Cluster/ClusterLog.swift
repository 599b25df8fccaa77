import Primitives

/// The writer's part in a cluster: where each of its transactions begins and ends, what other nodes have committed in
/// between, and whether this node leads.
///
/// The node that leads does what must not be done twice: it sends the pushes, checks confirmations, does what time makes due,
/// and deletes what is old. It leads until it has not committed for ``Timing/leaderLease``; then another node does.
final class ClusterLog {
    /// The name of looking at it, in the operator's log.
    static let name = "cluster_log"
    /// How long entries are kept, in milliseconds. A node that was frozen for longer must read everything again.
    static let keptMilliseconds: Int64 = 600_000

    private let table: ClusterTable
    private let connection: PostgresConnection
    private let member: ClusterMember
    /// The row as the transaction that runs leaves it, or the last one has left it.
    private var head: ClusterHead?
    /// The position behind which entries are to be read, unless the node has applied them meanwhile. Nil until the first
    /// transaction has committed: it reads the tables, which have what all entries say, and the oldest ones are deleted.
    private var readPosition: Int64?
    /// What ``take()`` has not taken, and how much of it is of earlier transactions than the one that runs.
    private var items: [LogItem] = []
    private var itemsOfEarlier = 0
    /// Whether this node leads, as of the last commit.
    private(set) var isLeader = false
    private var wasLeader = false
    /// The database's time minus that of this machine, in milliseconds, as of the last transaction.
    private(set) var clockOffset: Int64 = 0
    /// When the last transaction got the lock, in milliseconds of the monotonic clock.
    private(set) var lockedAt: Int64 = 0
    /// Until when this node leads for sure, in milliseconds of the monotonic clock: no other node does before.
    private(set) var leadsUntil: Int64 = 0
    /// Whether no other node was there when this one came.
    let isFirst: Bool

    init(_ database: Database, _ connection: PostgresConnection, _ member: ClusterMember) {
        table = ClusterTable(database: database)
        self.connection = connection
        self.member = member
        isFirst = connection.isAlone
    }

    /// Joins the cluster: adds what is missing in its tables. Call it once, after the migrations.
    func join() throws(DatabaseError) {
        try table.create()
        if isFirst { try table.goOn() }
        try connection.lockHead()
    }

    // MARK: Transactions

    /// The time of the transaction that runs: milliseconds since 1970 by the database's clock.
    var now: Int64 { head?.now ?? 0 }

    /// The position of the last entry, as the transaction that runs leaves it.
    var position: Int64 { head?.position ?? 0 }

    /// Begins a transaction, whose connection has locked the row.
    /// - Parameters:
    ///   - wall: this machine's clock, in milliseconds since 1970.
    ///   - monotonic: milliseconds.
    /// - Returns: the row, and whether this node has become the leader.
    func begin(wall: Int64, monotonic: Int64) throws(DatabaseError) -> (head: ClusterHead, isNewLeader: Bool)? {
        guard let locked = connection.head else { return nil }
        lockedAt = monotonic
        clockOffset = locked.now - wall
        (itemsOfEarlier, wasLeader) = (items.count, isLeader)
        try read(upTo: locked.position)
        isLeader = locked.leader == member.epoch || locked.leaderUntil <= locked.now
        var head = locked
        if isLeader { (head.leader, head.leaderUntil) = (member.epoch, locked.now + Timing.leaderLease) }
        self.head = head
        return (head, isLeader && locked.leader != member.epoch)
    }

    /// Reads what other nodes have committed, up to a position.
    private func read(upTo last: Int64) throws(DatabaseError) {
        guard let readPosition else { return }
        let position = max(member.applied(), readPosition)
        guard position <= last else {
            throw DatabaseError(
                .busy, code: "PostgreSQL error",
                message: "the database has lost commits of this cluster: restart this gateway", doing: "reading the log")
        }
        guard position < last else { return }
        let entries = try table.entries(after: position)
        guard entries.first?.position == position + 1 else {
            throw DatabaseError(
                .busy, code: "PostgreSQL error",
                message: "the cluster's log no longer has what this gateway has missed: restart this gateway",
                doing: "reading the log")
        }
        items += entries.map { .foreign($0) }
    }

    /// Adds what the transaction has changed to the log. Call it at most once in a transaction.
    func append(_ record: [UInt8]) throws(DatabaseError) {
        guard let position = head.map({ $0.position + 1 }) else { return }
        head?.position = position
        let entry = LogEntry(position: position, record: record)
        items.append(.own(entry))
        try table.append(entry, of: member.epoch, at: now)
    }

    /// Ends a transaction: the next one of any node goes on from here.
    func end(notificationID: String, auditID: String, pushNumber: Int64) throws(DatabaseError) {
        guard var head else { return }
        head.notificationID = max(notificationID, head.notificationID)
        head.auditID = max(auditID, head.auditID)
        head.pushNumber = pushNumber
        try table.store(head)
    }

    /// The transaction is done.
    func committed() {
        readPosition = head?.position ?? readPosition
        leadsUntil = isLeader ? lockedAt + Timing.leaderLease - Timing.leaderLeaseMargin : 0
        // A transaction that cannot even begin undoes nothing of this one.
        (itemsOfEarlier, wasLeader) = (items.count, isLeader)
    }

    /// The transaction is rolled back.
    func rolledBack() {
        isLeader = wasLeader
        items.removeLast(items.count - itemsOfEarlier)
    }

    /// Whether ``take()`` has something.
    var hasItems: Bool { !items.isEmpty }

    /// What other nodes have committed, and what this one has added, since the last call. Call it after each commit.
    func take() -> [LogItem] {
        defer { (items, itemsOfEarlier) = ([], 0) }
        return items
    }

    // MARK: Nodes

    /// Notes that this node lives, and which notification it has written to its connections last.
    /// - Parameter written: nil: none since the last time.
    func recordNode(written: String?) throws(DatabaseError) {
        try table.store(member, written: written ?? head?.notificationID ?? "", isNew: written != nil, at: now)
    }

    /// This node ends in order: it has written everything, and leads no longer.
    func leave() throws(DatabaseError) {
        try table.remove(member.epoch)
        guard isLeader else { return }
        head?.leader = ""
        head?.leaderUntil = 0
    }

    /// The most entries, marks and nodes that a transaction deletes.
    static let deletedMax = 1_000

    /// Deletes entries, marks and nodes that are too old to be needed.
    /// - Returns: whether more may be left.
    func deleteOld() throws(DatabaseError) -> Bool {
        try table.deleteOld(before: now - Self.keptMilliseconds, most: Self.deletedMax) == Self.deletedMax
    }
}
