/// What could not be read, for the log. It happens to one row or to all of them, so each kind is said once, naming the first.
final class Complaints {
    private var said: Set<String> = []
    private var pending: [String] = []

    func add(_ kind: String, of subject: String) {
        if said.insert(kind).inserted { pending.append("\(kind) of \(subject)") }
    }

    /// What has not been taken yet.
    func take() -> [String] {
        defer { pending = [] }
        return pending
    }
}
