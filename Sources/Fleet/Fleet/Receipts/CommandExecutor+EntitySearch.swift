import Access
import JSON

/// The newest notifications of a person, for the events of one request whose ids match no notification. It remembers what
/// it has read: a request may have a hundred events, each of which may fit a hundred notifications.
struct EntitySearch {
    let person: Identity
    /// The newest first. Nil: not read yet.
    fileprivate var candidates: [Candidate]?
    /// By the code that an event names; nil if no order has it.
    fileprivate var orders: [String: Order?] = [:]

    init(_ person: Identity) { self.person = person }

    /// A notification, and what is known of it.
    fileprivate struct Candidate {
        let notification: Notification
        let names: EntityNames
        /// Nil: not read yet.
        var isPushed: Bool?

        init(_ notification: Notification) {
            self.notification = notification
            names = EntityNames(notification)
        }
    }
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
        if search.candidates == nil {
            search.candidates = try newestNotifications(of: search.person).map { EntitySearch.Candidate($0.notification) }
        }
        let order: Order?
        if let known = search.orders[entity] {
            order = known
        } else {
            order = try orders.order(code: entity)
            search.orders.updateValue(order, forKey: entity)
        }
        let collapseKeys = [AuditEntry.Subject.order(entity), .route(entity)].compactMap(\.collapseKey)
        // The events of an order contain its booking, and its code only if it has none.
        let texts = [entity] + [order?.bookingID, order?.bookingReference].compactMap { $0 }
        for index in (search.candidates ?? []).indices {
            guard let candidate = search.candidates?[index],
                rules[candidate.notification.event].dataType.hasSameBytes(as: event.type),
                candidate.names.contain(collapseKeys, or: texts)
            else { continue }
            let id = candidate.notification.id
            if candidate.isPushed == nil {
                search.candidates?[index].isPushed = try outbox.jobs.isPushed(id, to: search.person.key)
            }
            if search.candidates?[index].isPushed == true { return try notifications.head(of: id) }
        }
        return nil
    }

    /// The newest notifications of a person's channel and, for a driver, of the channel of all drivers; for a customer, of
    /// the bookings.
    private func newestNotifications(of person: Identity) throws(DatabaseError) -> [LoggedNotification] {
        let own = try notifications.newest(channel: person.channel, before: nil, limit: Self.entitySearchMax)
        let others =
            switch person.role {
            case .customer: try inbox.newest(for: person.key, before: nil, limit: Self.entitySearchMax)
            case .driver: try notifications.newest(channel: FleetChannel.drivers.name, before: nil, limit: Self.entitySearchMax)
            case .admin, .ops: [LoggedNotification]()
            }
        return Array((own + others).sorted { $0.notification.id > $1.notification.id }.prefix(Self.entitySearchMax))
    }
}

/// The names of the entity that a notification is about.
private struct EntityNames {
    private enum Member: String, CaseIterable {
        case bookingId, bookingReference, orderRef, reference, orderId, routeId, batchId
    }

    private let collapseKey: String
    private let texts: [String]

    init(_ notification: Notification) {
        collapseKey = notification.collapseKey
        let members = try? JSONMembers<Member>(of: notification.data)
        texts = Member.allCases.compactMap { member in
            if case .text(let text) = members?[member] { text } else { nil }
        }
    }

    func contain(_ collapseKeys: [String], or names: [String]) -> Bool {
        collapseKeys.contains(where: collapseKey.hasSameBytes(as:))
            || texts.contains { text in names.contains(where: text.hasSameBytes(as:)) }
    }
}
