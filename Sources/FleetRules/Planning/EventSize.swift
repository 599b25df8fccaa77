import Access

/// Whether events fit. An order that could not be cancelled because its address is too long for an event would be a trap,
/// so what would make any event of the table too large is refused when it is said, not when the event is due.
enum EventSize {
    /// An id of a driver or a drop that is as long as they may be; its characters are a byte each.
    private static let longestID = String(repeating: "9", count: Identity.idLengthMax)
    /// Printable ASCII, of which JSON escapes the quote: nothing of that length is longer.
    private static let longestCorrelationID = String(repeating: "\"", count: 128)
    private static let anyULID = String(repeating: "7", count: 26)

    /// Refuses when an event of the order as it is to be stored could be too large. `said` are the fields that this request
    /// set: one of them is named, and where it set none there is nothing to refuse.
    static func check(_ order: Order, driverName: String?, said: [String], _ rules: NotificationRules) throws(RuleError) {
        let driver = longestID
        let all: [OrderTransition] =
            [
                .assigned(to: driver, name: driverName, insteadOf: driver), .unassigned(from: driver, reason: nil),
                .cancelled(driver: driver, reason: nil), .driverRemoved(driver, reason: nil),
                .claimed(by: driver, name: driverName),
            ] + [JobStatus.arrived, .inTransit, .completed].map { .progressed(to: $0, by: driver, name: driverName) }
        try check(all.flatMap { $0.events(of: order, at: 0) }, said, rules)
    }

    /// The same for a route.
    static func check(_ route: Route, driverName: String?, said: [String], _ rules: NotificationRules) throws(RuleError) {
        let all: [RouteTransition] = [
            .assigned(to: longestID, name: driverName, insteadOf: longestID, reason: nil),
            .unassigned(from: longestID, reason: nil),
            .cancelled(driver: longestID, reason: nil), .dropRemoved(longestID, driver: longestID, reason: nil),
            .claimed(by: longestID, name: driverName),
        ]
        try check(all.flatMap { $0.events(of: route, at: 0) }, said, rules)
    }

    private static func check(_ drafts: [EventDraft], _ said: [String], _ rules: NotificationRules) throws(RuleError) {
        for draft in drafts where draft.lengths.contains(where: { said.contains($0.field) }) {
            try check(draft, said: said, correlationID: longestCorrelationID, rules)
        }
    }

    /// Refuses an event that is too large, naming the longest of its fields that were said now, else of all.
    static func check(
        _ draft: EventDraft, said: [String], correlationID: String, _ rules: NotificationRules
    ) throws(RuleError) {
        guard draft.data(id: anyULID, correlationID: correlationID).count > rules.eventBytesMax else { return }
        let own = draft.lengths.filter { said.contains($0.field) }
        let longest = (own.isEmpty ? draft.lengths : own).max { $0.bytes < $1.bytes }
        let field = longest?.field ?? "data"
        throw RuleError(.invalid, "\(field) makes the event \(draft.event) larger than \(rules.eventBytesMax) bytes")
    }
}
