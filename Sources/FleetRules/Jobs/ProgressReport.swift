import JSON
import Primitives

/// A driver's report that an order has reached a step.
package struct ProgressReport: Equatable, Sendable {
    package let step: JobStatus
    /// Free text for the audit log.
    package var notes: String?
    /// Degrees, -90 to 90, as sent.
    package var latitude: JSONNumber?
    /// Degrees, -180 to 180, as sent.
    package var longitude: JSONNumber?

    package init(step: JobStatus) { self.step = step }
}

extension ProgressReport {
    /// Milliseconds in which the report may be repeated.
    private static let repetitionMax: Int64 = 600_000

    /// Whether this is the report that `last`, the order's last audit entry, records: the same driver repeats it,
    /// because the response got lost. Apps repeat requests by themselves, and not all send an idempotency key.
    func repeats(_ last: AuditEntry, _ context: CommandContext) -> Bool {
        last.action == "progress" && last.after?.status == step
            && Identifier(last.actor) == Identifier(context.actor.key) && context.now - last.at <= Self.repetitionMax
    }

    /// For the audit log: notes and position, if the report contains them.
    var auditDetails: EventFields {
        let notes: EventFields = notes == nil ? [:] : ["notes": .text(notes)]
        let latitude: EventFields = latitude == nil ? [:] : ["latitude": .number(latitude)]
        let longitude: EventFields = longitude == nil ? [:] : ["longitude": .number(longitude)]
        return notes + latitude + longitude
    }
}
