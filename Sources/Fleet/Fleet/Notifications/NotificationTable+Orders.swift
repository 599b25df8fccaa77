import JSON

/// The notifications that concern an order: those of its changes, which have the time and the correlation id of the change in
/// the audit log, and those on its booking's channels. A backend may change an order very often, so the list is searched in
/// parts, as others are.
extension NotificationSearch {
    /// How far a list of the notifications of an order is searched.
    struct OrderPlace {
        let order: Order
        /// The list contains notifications with lesser ids.
        fileprivate let before: String
        fileprivate var stage = Stage.changes(before: "~")

        fileprivate enum Stage {
            /// Among the changes of the order, from the newest to the oldest: before this id in the audit log.
            case changes(before: String)
            /// On one of the ``OrderPlace/channels``, from the newest notification to the oldest.
            case channel(Int, before: Int64)
        }

        init(_ order: Order, before: String) {
            self.order = order
            self.before = before
        }

        fileprivate var channels: [String] { [FleetChannel.booking(order.reference), .tracking(order.reference)].map(\.name) }
    }

    /// The most notifications of an action on an order; those of the next actions are told apart by their time.
    fileprivate static let perActionMax = 64
    /// The most changes of a part.
    static let changesMax = partMax / perActionMax

    /// Adds what the filter selects. The list is the newest first.
    fileprivate mutating func add(_ reports: [NotificationReport]) {
        let known = Set(found.map(\.logged.notification.id))
        let new = reports.filter { !known.contains($0.logged.notification.id) && filter.includes($0) }
        guard !new.isEmpty else { return }
        found = Array((found + new).sorted { $0.logged.notification.id > $1.logged.notification.id }.prefix(limit))
    }

    /// The list is full, and begins behind this id.
    fileprivate func isFull(before id: String) -> Bool {
        found.count >= limit && found.last.map { $0.logged.notification.id > id } ?? true
    }
}

extension NotificationTable {
    /// Searches the next part of a list of the notifications of an order.
    /// - Returns: whether the list is complete.
    func searchOrder(_ search: inout NotificationSearch, _ place: NotificationSearch.OrderPlace) throws(DatabaseError) -> Bool {
        var place = place
        switch place.stage {
        case .changes(let before): place.stage = try searchChanges(&search, place, before: before)
        case .channel(let index, let before):
            guard let next = try searchChannel(&search, place, index, before: before) else { return true }
            place.stage = next
        }
        search.next = .order(place)
        return false
    }

    /// - Returns: where the search goes on.
    private func searchChanges(
        _ search: inout NotificationSearch, _ place: NotificationSearch.OrderPlace, before: String
    ) throws(DatabaseError) -> NotificationSearch.OrderPlace.Stage {
        let changes = try database.all(
            Self.changesOfOrder, .string(place.order.code), .string(before), .integer(NotificationSearch.changesMax),
            as: { (id: $0.string(0), at: $0.integer(1), correlationID: $0.string(2), first: $0.integer(3)) })
        let (now, channels) = (search.now, place.channels)
        for change in changes {
            let reports = try database.all(
                Self.reportsOfChange, .integer(change.first), .integer(change.first + Int64(NotificationSearch.perActionMax)),
                .integer(change.at), .string(place.before),
                as: { row throws(DatabaseError) in try NotificationReport(row: row, now: now) })
            search.searched += reports.count
            search.add(
                reports.filter {
                    $0.logged.correlationID == change.correlationID && $0.logged.notification.concerns(place.order, channels)
                })
            // Older changes have older notifications.
            let oldest = reports.last?.logged.notification.id
            if let oldest, search.isFull(before: oldest) { return .channel(0, before: .max) }
        }
        let isOver = changes.count < NotificationSearch.changesMax || search.searched >= NotificationSearch.searchMax
        return isOver ? .channel(0, before: .max) : .changes(before: changes.last?.id ?? "")
    }

    private static let changesOfOrder = SQL(
        """
        SELECT id, at, correlation_id, notification FROM audit WHERE order_code = ? AND id < ? AND notification IS NOT NULL \
        ORDER BY id DESC LIMIT ?
        """)

    private static let reportsOfChange = SQL(
        """
        \(selectReport) WHERE number >= ? AND number < ? AND created_at + 0 = ? AND COALESCE(id, '') < ? ORDER BY number DESC
        """)

    /// - Returns: where the search goes on; nil: the list is complete.
    private func searchChannel(
        _ search: inout NotificationSearch, _ place: NotificationSearch.OrderPlace, _ index: Int, before sequence: Int64
    ) throws(DatabaseError) -> NotificationSearch.OrderPlace.Stage? {
        let part = try reports(ofChannel: place.channels[index], before: sequence, now: search.now)
        search.searched += part.count
        search.add(part.filter { $0.logged.notification.id < place.before })
        if part.count == NotificationSearch.partMax, let last = part.last?.logged, !search.isFull(before: last.notification.id),
            search.searched < NotificationSearch.searchMax
        {
            return .channel(index, before: last.sequence)
        }
        return index + 1 < place.channels.count ? .channel(index + 1, before: .max) : nil
    }
}

extension Notification {
    private enum Member: String, CaseIterable {
        case bookingId, bookingReference, orderRef
    }

    /// Whether the notification names an order: two orders may have been changed with one correlation id in the same
    /// millisecond.
    /// - Parameter channels: those of the order's booking, whose notifications need not name it.
    fileprivate func concerns(_ order: Order, _ channels: [String]) -> Bool {
        if channels.contains(where: channel.hasSameBytes(as:)) { return true }
        guard let members = try? JSONMembers<Member>(of: data) else { return false }
        return Member.allCases.contains { member in
            guard case .text(let text) = members[member] else { return false }
            return text.hasSameBytes(as: member == .bookingId ? order.bookingID ?? order.code : order.reference)
        }
    }
}
