import Access

/// The inputs of a plan besides the action and the stored job.
package struct CommandContext: Sendable {
    package var sender: Sender
    /// Milliseconds since 1970.
    package let now: Int64
    /// The time in the ids of notifications, in milliseconds since 1970.
    package let idTime: Int64
    package let correlationID: String
    /// From `If-Match`: one of these versions the order, route or driver's card must have; nil if any version will do. What
    /// the store does not have counts as version 0.
    package let expectedVersions: [Int]?
    package let rules: NotificationRules
    /// For drivers' actions on orders: the driver's card, nil if there is none, and the driver's positions.
    package var card: DriverCard?
    package var track = Track()
    package var trips = TripRules()
    /// Who acts according to the audit log, if it is not ``actor``.
    var auditActor: String?

    package init(
        sender: Sender, now: Int64, idTime: Int64? = nil, correlationID: String, expectedVersions: [Int]? = nil,
        rules: NotificationRules = .init()
    ) {
        self.sender = sender
        self.now = now
        self.idTime = idTime ?? now
        self.correlationID = correlationID
        self.expectedVersions = expectedVersions
        self.rules = rules
    }

    /// As ``IssuedCommand/actor``.
    package var actor: Identity {
        get { sender.identity }
        set { sender = .person(newValue) }
    }
}

extension CommandContext {
    func makeAuditEntry(
        _ action: String, _ subject: AuditEntry.Subject, before: Assignment? = nil, after: Assignment? = nil,
        reason: String? = nil, details: EventFields = [:]
    ) -> AuditEntry {
        makeAuditEntry(
            action, subject, from: before.map(AuditEntry.State.init), to: after.map(AuditEntry.State.init), reason: reason,
            details: details)
    }

    /// - Parameters:
    ///   - before: the state of the subject before the action; nil if it did not exist, or has none.
    ///   - after: the state after the action; nil if the subject has none.
    func makeAuditEntry(
        _ action: String, _ subject: AuditEntry.Subject, from before: AuditEntry.State?, to after: AuditEntry.State?,
        reason: String? = nil, details: EventFields = [:]
    ) -> AuditEntry {
        AuditEntry(
            at: now, actor: auditActor ?? actor.key, action: action, subject: subject, correlationID: correlationID,
            before: before, after: after, reason: reason, details: details.members.isEmpty ? nil : details.object)
    }
}
