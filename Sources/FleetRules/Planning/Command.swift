import Access

/// What a request asks the store to do, with all that decides it but the state and the time.
package struct Command: Equatable, Sendable {
    /// What is to be done, to whom it may concern.
    package enum Action: Equatable, Sendable {
        case order(OrderAction)
        case route(RouteAction)
        /// By the order's code, else its bookingId.
        case acceptJob(String)
        case acceptRoute(String)
        /// By the order's code, else its bookingId.
        case progress(String, ProgressReport)
        case announce(Announcement)
        /// What a phone says became of notifications.
        case telemetry([TelemetryEvent])
        /// Somebody has read these of his notifications; nil: all of them.
        case markRead([String]?)
        /// A phone comes or goes.
        case device(DeviceRegistration)
        case updatePreferences(PreferenceChanges)
        /// Somebody is to be forgotten: devices, preferences, positions, his name.
        case erase(Role, id: String)
    }

    package let actor: Identity
    package let action: Action
    package let correlationID: String
    /// Of `If-Match`: the version that the order or route must have.
    package let expectedVersion: Int?
    /// Set when the request may come again and must then be answered the same.
    package let idempotencyKey: IdempotencyKey?

    /// How a repeated request is known (`Idempotency-Key`).
    package struct IdempotencyKey: Equatable, Sendable {
        /// 1 to 255 characters, the sender's own.
        package let text: String
        /// SHA-256 of method, path and the body's JSON value: the same for the same request, however it is written.
        package let digest: [UInt8]

        package init(key: String, digest: [UInt8]) {
            self.text = key
            self.digest = digest
        }
    }

    package init(
        actor: Identity, deed: Action, correlationID: String, expectedVersion: Int? = nil, repetition: IdempotencyKey? = nil
    ) {
        self.actor = actor
        self.action = deed
        self.correlationID = correlationID
        self.expectedVersion = expectedVersion
        self.idempotencyKey = repetition
    }
}

/// What a phone reports of one notification.
package struct TelemetryEvent: Equatable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case received
        case viewed = "action_view_now"
        case accepted = "action_accept"
        case dismissed = "action_dismiss"
    }

    package let notificationID: String
    /// `new_job`, `job_update`… or a catalogued type.
    package let type: String
    package let entityID: String
    package let kind: Kind
    /// When it happened by the phone's clock: ISO 8601, as sent.
    package let timestamp: String
    /// `{title, message}` as sent, a JSON object; nil where nothing was.
    package let metadata: [UInt8]?

    package init(
        notificationID: String, type: String, entityID: String, kind: Kind, timestamp: String, metadata: [UInt8]? = nil
    ) {
        self.notificationID = notificationID
        self.type = type
        self.entityID = entityID
        self.kind = kind
        self.timestamp = timestamp
        self.metadata = metadata
    }
}

/// What a request wants to know of the store.
package enum Query: Equatable, Sendable {
    case order(String)
    case route(String)
    /// The open orders and routes of a driver.
    case jobs(driverID: String)
    /// What was said on somebody's own channel, newest first, older than `before`.
    case notifications(of: Identity, before: String?, limit: Int)
    /// One notification and all that became of it.
    case notificationHistory(notificationID: String)
    /// The newest notifications of all, or of one channel, older than `before`.
    case notificationLog(channel: String?, before: String?, limit: Int)
    /// The phones that somebody has registered.
    case devices(Identity)
    case preferences(Identity)
}
