import Access

/// Limits the size of events. A field that would make a later event too large is rejected when a request sets it, not
/// when that event is published. Otherwise, a driver could never be removed from an order whose address is too long.
enum EventSize {
    /// Stands for the id of a driver or a drop: the maximum length, and no characters that JSON escapes.
    private static let longestID = String(repeating: "9", count: Identity.idLengthMax)
    /// Stands for a future request's correlation id: no shorter in JSON than any of 128 characters, the maximum.
    private static let longestCorrelationID = String(repeating: "\"", count: 128)
    /// Stands for a notification's id: all ULIDs have 26 characters.
    private static let anyULID = String(repeating: "7", count: 26)
    /// The most bytes that JSON needs for a byte of text: `\u0001`.
    private static let escapedMax = 6
    /// More than the bytes of an event besides the job's texts and the driver's name: the names of its fields, its
    /// message, the ids of a driver and a drop, the notification's id and the longest correlation id, and the four texts of
    /// a driver's card.
    private static let otherBytesMax = 2_048 + 4 * DriverCard.textMax * escapedMax

    /// An upper bound of the size of every event of a job. It takes a fraction of the time of building the events, and
    /// almost all jobs are far below the limit.
    static func bound<Subject: Job>(_ job: Subject, driverName: String?, _ rules: NotificationRules) -> Int {
        escapedMax * (job.textBytes + (driverName?.utf8.count ?? 0) + rules.dataBytesMax) + otherBytesMax
    }

    /// Rejects a job if one of its future events could be too large.
    /// - Parameters:
    ///   - driverName: the name of the job's driver; nil if it is unknown.
    ///   - presentFields: names of the fields that the request contains. The error names one of them. Events that
    ///     contain none of these fields are not checked.
    static func check<Subject: Job>(
        _ job: Subject, driverName: String?, presentFields: [String], _ rules: NotificationRules
    ) throws(RuleError) {
        guard bound(job, driverName: driverName, rules) > rules.eventBytesMax else { return }
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
        // 128: more than the names and the id that `data(id:correlationID:)` adds.
        let bound = draft.members.count + escapedMax * correlationID.utf8.count + 128
        guard bound > rules.eventBytesMax else { return }
        guard draft.size(id: anyULID, correlationID: correlationID) > rules.eventBytesMax else { return }
        let present = draft.lengths.filter { presentFields.contains($0.field) }
        let longest = (present.isEmpty ? draft.lengths : present).max { $0.bytes < $1.bytes }
        let field = longest?.field ?? "data"
        throw RuleError(.fieldTooLong, field, draft.event, "\(rules.eventBytesMax)")
    }
}

extension RuleError.Code {
    package static let fieldTooLong = Self(
        "fieldTooLong", .invalid, "Field \"{}\" is too long: event {} would exceed {} bytes")
}
