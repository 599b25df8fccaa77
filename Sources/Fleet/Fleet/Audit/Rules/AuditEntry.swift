/// An entry of the audit log.
package struct AuditEntry: Equatable, Sendable {
    /// The order, route, account or batch that the action concerns.
    package enum Subject: Equatable, Sendable {
        case order(String)
        case route(String)
        /// The account of a driver, or of a customer who signs in by code: its id.
        case account(String)
        /// A batch of orders.
        case batch(String)
        /// No order or route: the action is an announcement (a notification that an admin sends), the reminder of one, an
        /// erasure, or a change of a driver's card. `details` has the recipients or the person.
        case fleet
    }

    /// The status and the driver of a job, an account or a batch at one moment.
    package struct State: Equatable, Sendable {
        /// A ``JobStatus``, an `AccountStatus` or a `BatchStatus`.
        package let status: String
        package let driverID: String?

        package init(status: String, driverID: String?) {
            self.status = status
            self.driverID = driverID
        }

        package init(status: JobStatus, driverID: String?) { self.init(status: status.rawValue, driverID: driverID) }

        init(_ assignment: Assignment) { self.init(status: assignment.status, driverID: assignment.driver?.id.text) }

        init(_ account: Account) { self.init(status: account.status.rawValue, driverID: account.personID) }

        /// Nil if the entry concerns no job.
        package var jobStatus: JobStatus? { JobStatus(rawValue: status) }
    }

    /// Milliseconds since 1970.
    package let at: Int64
    /// ``Identity/key`` of the user who acted.
    package let actor: String
    /// `assign`, `unassign`, `accept`, `progress`…
    package let action: String
    package let subject: Subject
    package let correlationID: String
    /// The job's state before the action. Nil if the store did not have the job, or the subject is `fleet`.
    package let before: State?
    /// The job's state after the action. Nil if the subject is `fleet`.
    package let after: State?
    /// The admin's reason, as sent. Nil if the request had none.
    package let reason: String?
    /// A JSON object, such as the notes and position of a progress report; nil if there are none.
    package let details: [UInt8]?
    /// Whether the details contain a position, which is deleted earlier than the rest.
    package var containsPosition: Bool

    package init(
        at: Int64, actor: String, action: String, subject: Subject, correlationID: String, before: State? = nil,
        after: State? = nil, reason: String? = nil, details: [UInt8]? = nil, containsPosition: Bool = false
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
        self.containsPosition = containsPosition
    }
}
