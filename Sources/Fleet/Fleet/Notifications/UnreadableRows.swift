/// Collects unreadable rows for the operator's log. One cause can make a single row unreadable or all rows of a kind,
/// so each kind is reported only once, with the owner of its first unreadable row.
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
