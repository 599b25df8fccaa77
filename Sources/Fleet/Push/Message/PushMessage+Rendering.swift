import Crypto
import Fleet

extension PushMessage {
    /// Renders a job's notification with its catalogue entry.
    package init(_ job: PushJob, in entry: NotificationCatalogue.Entry) {
        let notification = job.notification
        let scalars = EventScalars(of: notification.data)
        let (title, body) = Self.texts(of: notification.event, in: entry, scalars)
        let leadingFields = Self.leadingFields(of: job, type: entry.dataType, scalars)
        self.init(
            notificationID: notification.id, title: title, body: body, sound: entry.sound, category: entry.category,
            thread: entry.thread, channelID: entry.channelID, isHighPriority: entry.priority == .high,
            expiresAt: notification.expiresAt, collapseID: StableID.collapseID(of: notification.collapseKey),
            collapseKey: Self.collapseKey(of: notification.subject, type: entry.dataType), badge: job.badge,
            leadingFields: leadingFields, eventFields: Self.eventFields(scalars, beside: leadingFields, type: entry.dataType))
    }

    private static func texts(
        of event: String, in entry: NotificationCatalogue.Entry, _ scalars: EventScalars
    ) -> (title: String, body: String) {
        let title = entry.title.render { scalars[$0] }
        let body = entry.body.render { scalars[$0] }
        guard title.isBlank else { return (title, body.isBlank ? "" : body) }
        // Devices do not show a notification that has neither title nor body.
        return ("", body.isBlank ? readableName(of: event) : body)
    }

    /// The event's name as a text: `Job assigned` for `job-assigned`.
    private static func readableName(of event: String) -> String {
        var bytes = event.utf8.map { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") ? UInt8(ascii: " ") : $0 }
        if let first = bytes.first, first >= UInt8(ascii: "a"), first <= UInt8(ascii: "z") { bytes[0] = first & ~0x20 }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.isBlank ? "Notification" : text
    }
}

// MARK: Data fields for apps

extension PushMessage {
    private static func leadingFields(of job: PushJob, type: String, _ scalars: EventScalars) -> [Field] {
        var leadingFields = [
            Field("type", type, isRequired: true), Field("event", job.notification.event, isRequired: true),
            Field("notificationId", job.notification.id, isRequired: true),
        ]
        guard let entity = entity(of: job, scalars) else { return leadingFields }
        leadingFields.append(Field("entityId", entity.id, isRequired: true))
        if let field = entity.field { leadingFields.append(Field(field, entity.id, isRequired: true)) }
        return leadingFields
    }

    /// The id of the entity that a tap opens, and the data field besides `entityId` that has the id, if there is one.
    /// Nil if a tap opens no entity.
    private static func entity(of job: PushJob, _ scalars: EventScalars) -> (id: String, field: String?)? {
        switch job.entity {
        case .job(let id): return (id, "jobId")
        case .route(let id): return (id, "routeId")
        case nil:
            for (key, field) in entityKeys {
                if let id = scalars[key], !id.isEmpty { return (id, field) }
            }
            return nil
        }
    }

    /// The keys by which the data of a notification without job or route may name an entity, the more specific ones
    /// first.
    private static let entityKeys: [(key: String, field: String?)] = [
        ("bookingId", "jobId"), ("jobId", "jobId"), ("routeId", "routeId"), ("entityId", nil), ("orderId", nil),
        ("batchId", nil), ("reference", nil),
    ]

    /// The event fields that apps rely on, by type. They are never cut.
    private static let requiredEventFields = [
        "NEW_BATCH_AVAILABLE": ["batchId", "batchNumber", "zone", "orderCount"],
        "BATCH_REASSIGNED": ["batchId", "batchNumber", "zone", "orderCount", "orderId"],
        "ORDER_CANCELLED": ["orderId", "batchId"],
        "DRIVER_APPROVED": ["action"],
        "DRIVER_REJECTED": ["action"],
        "driver_arrival": ["reference", "driver_id", "timestamp"],
    ]

    /// The event's fields, except those in `leadingFields`, `title` and `message` (the push has a title and a text of
    /// its own), and the names that providers reserve.
    private static func eventFields(_ scalars: EventScalars, beside leadingFields: [Field], type: String) -> [Field] {
        let required = requiredEventFields[type] ?? []
        return scalars.fields.compactMap { field in
            let isTaken = leadingFields.contains { $0.isNamed(field.name) } || field.isNamed("title") || field.isNamed("message")
            guard !isTaken, !PushFieldNames.isReserved(field.name) else { return nil }
            return required.contains(where: field.isNamed) ? Field(field.name, field.value, isRequired: true) : field
        }
    }
}

// MARK: Collapse keys

extension PushMessage {
    /// The key of a notification about an order or a route; nil for all others, which supersede no older notification.
    private static func collapseKey(of subject: AuditEntry.Subject, type: String) -> CollapseKey? {
        switch subject {
        case .order: type == "new_job" ? .newJob : .jobUpdate
        case .route: type == "new_route" ? .newRoute : .routeUpdate
        case .account, .batch, .fleet: nil
        }
    }
}

extension String {
    /// Whether the string has no characters except spaces and control characters.
    fileprivate var isBlank: Bool { utf8.allSatisfy { $0 <= 0x20 } }
}
