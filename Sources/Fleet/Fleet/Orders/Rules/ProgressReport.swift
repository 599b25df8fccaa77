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
    /// Whether an arrival is to be taken back, so that the driver is `en_route` again. Concerns no other step.
    package var isUndo = false
    /// Why the arrival is taken back; free text for the events and the audit log.
    package var reason: String?

    package init(step: JobStatus) { self.step = step }
}

extension ProgressReport {
    /// Milliseconds in which the report may be repeated.
    private static let repetitionMax: Int64 = 600_000

    /// The time of the step, in milliseconds since 1970, if the driver reports a step that the order has already reached:
    /// by a position, or by the report that `last`, the order's last audit entry, records. Nil if this is a new report.
    func repeated(after last: AuditEntry?, of order: Order, _ context: CommandContext) -> Int64? {
        guard order.assignment.status == step else { return nil }
        if isUndo, step == .enRoute, let last, isRepeated(last, "correct", context) { return last.at }
        if step == .arrived, order.trip.isArrivedByPosition, let arrivedAt = order.trip.arrivedAt { return arrivedAt }
        return last.flatMap { isRepeated($0, "progress", context) ? $0.at : nil }
    }

    /// Whether this is the report that `last` records: the same driver repeats it, because the response got lost. Apps
    /// repeat requests by themselves, and not all send an idempotency key.
    private func isRepeated(_ last: AuditEntry, _ action: String, _ context: CommandContext) -> Bool {
        last.action == action && last.after?.jobStatus == step
            && Identifier(last.actor) == Identifier(context.actor.key) && context.now - last.at <= Self.repetitionMax
    }

    /// Whether the report takes back an arrival. In all other states it reports the step `en_route`.
    package func takesBackArrival(of order: Order) -> Bool {
        isUndo && step == .enRoute && order.assignment.status == .arrived
    }

    /// The driver's position at a moment; nil if the report does not contain it.
    /// - Parameter time: milliseconds since 1970.
    package func position(at time: Int64) -> Position? {
        guard let latitude = latitude.flatMap({ Double($0.text) }), let longitude = longitude.flatMap({ Double($0.text) })
        else { return nil }
        let position = Position(latitude: latitude, longitude: longitude, recordedAt: time)
        return position.isNone ? nil : position
    }

    /// For the audit log: notes and position, if the report contains them.
    var auditDetails: EventFields {
        let notes: EventFields = notes == nil ? [:] : ["notes": .text(notes)]
        let latitude: EventFields = latitude == nil ? [:] : ["latitude": .number(latitude)]
        let longitude: EventFields = longitude == nil ? [:] : ["longitude": .number(longitude)]
        return notes + latitude + longitude
    }
}
