/// One event for one channel, before anybody has it: a row of the log in the making.
package struct Notification: Equatable, Sendable {
    /// A ULID.
    package let id: String
    /// The plain name of the channel, which is the recipient: `driver-42`, `drivers-channel`.
    package let channel: String
    package let event: String
    /// A JSON object that holds `notificationId` and `correlationId` beside the event's fields.
    package let data: [UInt8]
    /// Milliseconds since 1970.
    package let createdAt: Int64
    /// After it nobody need hear of it: milliseconds since 1970.
    package let expiresAt: Int64
    /// What a newer notification with the same key supersedes: the notification's own id, or `order:CODE`, `route:ID`.
    package let collapseKey: String

    package init(
        id: String, channel: String, event: String, data: [UInt8], createdAt: Int64, expiresAt: Int64, collapseKey: String
    ) {
        self.id = id
        self.channel = channel
        self.event = event
        self.data = data
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.collapseKey = collapseKey
    }
}

/// Who did what to what, and what came of it.
package struct AuditEntry: Equatable, Sendable {
    /// What it was done to.
    package enum Subject: Equatable, Sendable {
        case order(String)
        case route(String)
        /// What concerns no order: an announcement.
        case fleet
    }

    package let at: Int64
    /// ``Identity/key`` of who did it.
    package let actor: String
    /// `assign`, `unassign`, `accept`, `progress`…
    package let action: String
    package let subject: Subject
    package let correlationID: String
    /// Status and driver before; nil for what was unknown.
    package let before: State?
    package let after: State?
    package let reason: String?
    /// Whatever else belongs to it, as a JSON object; nil for nothing: a progress report's notes and position.
    package let details: [UInt8]?

    /// How far something had come, and with whom.
    package struct State: Equatable, Sendable {
        package let status: JobStatus
        package let driverID: String?

        package init(status: JobStatus, driverID: String?) {
            self.status = status
            self.driverID = driverID
        }
    }

    package init(
        at: Int64, actor: String, action: String, subject: Subject, correlationID: String, before: State? = nil,
        after: State? = nil, reason: String? = nil, details: [UInt8]? = nil
    ) {
        self.at = at
        self.actor = actor
        self.action = action
        self.subject = subject
        self.correlationID = correlationID
        self.before = before
        self.after = after
        self.reason = reason
        self.details = details
    }
}

/// What a deed comes to: all of it is stored in one transaction, and then told.
package struct DispatchPlan: Equatable, Sendable {
    /// As they are to be stored; nil where nothing changes.
    package var order: Order?
    package var route: Route?
    /// In the order of the contract's table, which is the order of telling.
    package var notifications: [Notification] = []
    /// Which of them reach phones as well.
    package var pushes: [PushIntent] = []
    /// Nil where nothing was done: assigning the present driver again.
    package var audit: AuditEntry?
    /// The answer: a JSON object.
    package var response: [UInt8]

    package init(answer: [UInt8]) { self.response = answer }
}

/// Why a deed is not done.
package struct RuleError: Error, Equatable, Sendable {
    /// What kind of mistake it is: each has its HTTP status.
    package enum Kind: Sendable {
        /// 400: what was asked makes no sense.
        case invalid
        /// 403: not his.
        case forbidden
        /// 404: no such order or route.
        case unknown
        /// 409: not in this state.
        case conflict
    }

    package let kind: Kind
    /// For people, naming the field or the state.
    package let text: String

    package init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }
}
