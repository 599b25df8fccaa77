/// Collects unreadable rows for the operator's log. A defect can affect one row or all rows, so each kind of row is
/// reported only once, with the owner of the first unreadable row.
final class UnreadableRows {
    private var reported: Set<String> = []
    private var pending: [String] = []

    /// - Parameters:
    ///   - kind: what cannot be read, such as `preferences`.
    ///   - subject: the owner's ``Identity/key``.
    func add(_ kind: String, of subject: String) {
        if reported.insert(kind).inserted { pending.append("\(kind) of \(subject)") }
    }

    /// Returns the texts added since the last call, such as `preferences of driver:42`.
    func drain() -> [String] {
        defer { pending = [] }
        return pending
    }
}
