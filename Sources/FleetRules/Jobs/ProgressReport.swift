import JSON

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
    /// For the audit log: notes and position, if the report contains them.
    var auditDetails: EventFields {
        let notes: EventFields = notes == nil ? [:] : ["notes": .text(notes)]
        let latitude: EventFields = latitude == nil ? [:] : ["latitude": .number(latitude)]
        let longitude: EventFields = longitude == nil ? [:] : ["longitude": .number(longitude)]
        return notes + latitude + longitude
    }
}
