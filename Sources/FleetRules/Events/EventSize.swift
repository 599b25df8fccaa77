import Access

/// Limits the size of events. A field that would make a later event too large is rejected when a request sets it, not
/// when that event is published. Otherwise, a driver could never be removed from an order whose address is too long.
enum EventSize {
    /// Stands for the id of a driver or a drop: the maximum length, and no characters that JSON escapes.
    private static let longestID = String(repeating: "9", count: Identity.idLengthMax)
    /// Stands for a future request's correlation id: the maximum of 128 characters, each of which JSON escapes.
    private static let longestCorrelationID = String(repeating: "\"", count: 128)
    /// Stands for a notification's id: all ULIDs have 26 characters.
    private static let anyULID = String(repeating: "7", count: 26)

    /// Rejects a job if one of its future events could be too large.
    /// - Parameters:
    ///   - driverName: the name of the job's driver; nil if it is unknown.
    ///   - presentFields: names of the fields that the request contains. The error names one of them. Events that
    ///     contain none of these fields are not checked.
    static func check<Subject: Job>(
        _ job: Subject, driverName: String?, presentFields: [String], _ rules: NotificationRules
    ) throws(RuleError) {
        let transitions = Subject.Transition.samples(driver: longestID, name: driverName)
        for draft in transitions.flatMap({ $0.events(of: job, at: 0) })
        where draft.lengths.contains(where: { presentFields.contains($0.field) }) {
            try check(
                draft.adding(rules[draft.event].data), presentFields: presentFields, correlationID: longestCorrelationID, rules)
        }
    }

    /// Rejects an event that is too large, and names its longest field, preferably one of `presentFields`.
    static func check(
        _ draft: EventDraft, presentFields: [String], correlationID: String, _ rules: NotificationRules
    ) throws(RuleError) {
        guard draft.data(id: anyULID, correlationID: correlationID).count > rules.eventBytesMax else { return }
        let present = draft.lengths.filter { presentFields.contains($0.field) }
        let longest = (present.isEmpty ? draft.lengths : present).max { $0.bytes < $1.bytes }
        let field = longest?.field ?? "data"
        throw RuleError(
            .invalid, "Field \"\(field)\" is too long: event \(draft.event) would exceed \(rules.eventBytesMax) bytes")
    }
}
