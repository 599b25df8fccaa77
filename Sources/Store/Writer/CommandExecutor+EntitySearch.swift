import Access
import FleetRules
import JSON

/// The newest notifications of a person, for the events of one request whose ids match no notification.
struct EntitySearch {
    let person: Identity
    /// Nil: not read yet.
    fileprivate var newest: [LoggedNotification]?

    init(_ person: Identity) { self.person = person }
}

/// Finds what apps mean that report under ids of their own: by the job that the notification is about.
extension CommandExecutor {
    /// The most notifications that are looked at, in one range of an index for each request.
    private static let entitySearchMax = 100

    /// The newest notification that was pushed to the person, is about the event's entity, and has its type. The entity is
    /// the code of an order, the id or reference of a booking, or the id of a route.
    func notification(
        about event: TelemetryEvent, _ search: inout EntitySearch
    ) throws(DatabaseError) -> NotificationTable.Head? {
        guard let entity = event.entityID else { return nil }
        if search.newest == nil { search.newest = try newestNotifications(of: search.person) }
        var names = EntityNames(entity)
        // The events of an order contain its booking, and its code only if it has none.
        if let order = try orders.order(code: entity) { names.add(order) }
        for logged in search.newest ?? [] where rules[logged.notification.event].dataType.hasSameBytes(as: event.type) {
            let notification = logged.notification
            guard names.occur(in: notification),
                try outbox.jobs.isPushed(notification.id, to: search.person.key)
            else { continue }
            return try notifications.head(of: notification.id)
        }
        return nil
    }

    /// The newest notifications of a person's channel and, for a customer, of the bookings.
    private func newestNotifications(of person: Identity) throws(DatabaseError) -> [LoggedNotification] {
        let own = try notifications.newest(channel: person.channel, before: nil, limit: Self.entitySearchMax)
        guard person.role == .customer else { return own }
        let entries = try inbox.newest(for: person.key, before: nil, limit: Self.entitySearchMax)
        return Array((own + entries).sorted { $0.notification.id > $1.notification.id }.prefix(Self.entitySearchMax))
    }
}

/// The names under which notifications are about an entity.
private struct EntityNames {
    private enum Member: String, CaseIterable {
        case bookingId, bookingReference, orderRef, reference, orderId, routeId, batchId
    }

    private let collapseKeys: [String]
    private var texts: [String]

    init(_ entity: String) {
        collapseKeys = ["order:\(entity)", "route:\(entity)"]
        texts = [entity]
    }

    mutating func add(_ order: Order) { texts += [order.bookingID, order.bookingReference].compactMap { $0 } }

    func occur(in notification: Notification) -> Bool {
        if collapseKeys.contains(where: notification.collapseKey.hasSameBytes(as:)) { return true }
        guard let members = try? JSONMembers<Member>(of: notification.data) else { return false }
        return Member.allCases.contains { member in
            guard case .text(let text) = members[member] else { return false }
            return texts.contains(where: text.hasSameBytes(as:))
        }
    }
}
