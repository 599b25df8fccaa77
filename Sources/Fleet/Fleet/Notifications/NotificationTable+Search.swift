import Primitives

/// A list of notifications as far as it is found. Its filter may select few of very many, so it is searched in parts
/// (``NotificationTable/search(_:)``), and readers do other things in between.
struct NotificationSearch: Sendable {
    /// The most notifications through which a list searches, unless an index contains its state.
    static let searchMax = 100_000
    /// The most notifications of a part; they take about a millisecond.
    static let partMax = 500

    let filter: NotificationFilter
    /// The most notifications that the list contains.
    let limit: Int
    /// The moment for which states hold, in milliseconds since 1970.
    let now: Int64
    /// Newest first.
    var found: [NotificationReport] = []
    var searched = 0
    var next: Place

    enum Place {
        /// Behind this position, from the newest notification to the oldest.
        case position(NotificationTable.Position)
        /// Among those that nobody has confirmed, from the last that expires to the first: behind this time and this id. Those
        /// of the list have ids before `before`.
        case expiry(Int64, id: String, before: String)
        /// Among the notifications that concern an order.
        case order(OrderPlace)
    }

    /// - Parameter position: the list contains what is older.
    init(_ filter: NotificationFilter, before position: NotificationTable.Position, limit: Int, now: Int64) {
        self.filter = filter
        self.limit = limit
        self.now = now
        if filter.channel == nil, filter.state == .unconfirmed {
            next = .expiry(.max, id: "~", before: position.id)
        } else {
            next = .position(Self.start(of: filter, before: position))
        }
    }

    /// Where a list begins to search: ids begin with the time.
    private static func start(
        of filter: NotificationFilter, before position: NotificationTable.Position
    ) -> NotificationTable.Position {
        guard filter.createdUntil < .max - idLeadMax else { return position }
        return NotificationTable.Position(
            id: min(position.id, ULID.least(at: filter.createdUntil + idLeadMax)), sequence: position.sequence)
    }

    /// Milliseconds by which the time in an id may be ahead of the notification's: after the clock was set back, ids
    /// still increase.
    private static let idLeadMax: Int64 = 60_000
}

extension NotificationTable {
    /// Searches the next part of a list.
    /// - Returns: whether the list is complete.
    func search(_ search: inout NotificationSearch) throws(DatabaseError) -> Bool {
        switch search.next {
        case .position(let position): try searchLog(&search, before: position)
        case .expiry(let time, let id, let before): try searchUnconfirmed(&search, after: time, id, before: before)
        case .order(let place): try searchOrder(&search, place)
        }
    }

    private func searchLog(_ search: inout NotificationSearch, before position: Position) throws(DatabaseError) -> Bool {
        let now = search.now
        let part: [NotificationReport]
        if let channel = search.filter.channel {
            part = try reports(ofChannel: channel, before: position.sequence, now: now)
        } else {
            part = try database.all(
                Self.allReports, .string(position.id), .integer(NotificationSearch.partMax),
                as: { row throws(DatabaseError) in try NotificationReport(row: row, now: now) })
        }
        let new = part.filter(search.filter.includes).prefix(search.limit - search.found.count)
        search.found += new
        search.searched += part.count
        guard part.count == NotificationSearch.partMax, let last = part.last?.logged else { return true }
        search.next = .position(Position(id: last.notification.id, sequence: last.sequence))
        return search.found.count >= search.limit || search.searched >= NotificationSearch.searchMax
    }

    /// A part of a channel's notifications, newest first.
    func reports(ofChannel channel: String, before sequence: Int64, now: Int64) throws(DatabaseError) -> [NotificationReport] {
        try database.all(
            Self.reportsOfChannel, .string(channel), .integer(sequence), .integer(NotificationSearch.partMax),
            as: { row throws(DatabaseError) in try NotificationReport(row: row, now: now) })
    }

    private static let reportsOfChannel = SQL(
        "\(selectReport) WHERE channel = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?")
    // Sorted by id: an id begins with the time, and ids of the same millisecond have an order, too.
    private static let allReports = SQL("\(selectReport) WHERE id < ? ORDER BY id DESC LIMIT ?")

    /// The index has them by the time at which they expire, the list by id. What expires last is mostly the newest, so that
    /// later parts hardly change the list.
    private func searchUnconfirmed(
        _ search: inout NotificationSearch, after time: Int64, _ id: String, before: String
    ) throws(DatabaseError) -> Bool {
        let (now, createdUntil) = (search.now, search.filter.createdUntil)
        let part = try database.all(
            Self.unconfirmedReports, .integer(now), .integer(time), .integer(time), .string(id),
            .integer(NotificationSearch.partMax),
            as: { row throws(DatabaseError) in try NotificationReport(row: row, now: now) })
        let isFull = search.found.count >= search.limit
        let least = isFull ? search.found.last?.logged.notification.id ?? "" : ""
        let new = part.filter { report in
            let notification = report.logged.notification
            return notification.createdAt <= createdUntil && notification.id < before && notification.id > least
        }
        if !new.isEmpty {
            let all = (search.found + new).sorted { $0.logged.notification.id > $1.logged.notification.id }
            search.found = Array(all.prefix(search.limit))
        }
        guard part.count == NotificationSearch.partMax, let last = part.last?.logged.notification else { return true }
        search.next = .expiry(last.expiresAt, id: last.id, before: before)
        return false
    }

    // COALESCE keeps the planner from the index of the ids, which contains the whole log.
    private static let unconfirmedReports = SQL(
        """
        \(selectReport) WHERE unconfirmed = 1 AND expires_at > ? AND expires_at <= ? AND (expires_at < ? OR COALESCE(id, '') < ?) \
        AND NOT \(ReadMarkTable.coversNotification) \
        ORDER BY expires_at DESC, COALESCE(id, '') DESC LIMIT ?
        """)
}
