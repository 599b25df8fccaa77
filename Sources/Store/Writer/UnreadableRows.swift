/// Collects unreadable rows for the log. A defect can affect one row or all rows, so each kind is reported once, with
/// the subject of the first row.
final class UnreadableRows {
    private var reported: Set<String> = []
    private var pending: [String] = []

    /// - Parameters:
    ///   - kind: what is unreadable: `preferences`.
    ///   - subject: the owner's ``Identity/key``.
    func add(_ kind: String, of subject: String) {
        if reported.insert(kind).inserted { pending.append("\(kind) of \(subject)") }
    }

    /// Returns the texts added since the last call: `preferences of driver:42`.
    func drain() -> [String] {
        defer { pending = [] }
        return pending
    }
}
