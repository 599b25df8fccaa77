/// Collects unreadable rows for the log. One row or all of them can be affected, so each kind is reported once, with the
/// first subject.
final class UnreadableRows {
    private var reported: Set<String> = []
    private var pending: [String] = []

    func add(_ kind: String, of subject: String) {
        if reported.insert(kind).inserted { pending.append("\(kind) of \(subject)") }
    }

    /// Returns the texts added since the last call.
    func drain() -> [String] {
        defer { pending = [] }
        return pending
    }
}
