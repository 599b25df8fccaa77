/// What could not be read, for the log. It happens to one row or to all of them, so each kind is said once, naming the first.
final class UnreadableRows {
    private var reported: Set<String> = []
    private var pending: [String] = []

    func add(_ kind: String, of subject: String) {
        if reported.insert(kind).inserted { pending.append("\(kind) of \(subject)") }
    }

    /// What has not been taken yet.
    func drain() -> [String] {
        defer { pending = [] }
        return pending
    }
}
