/// Why the store cannot be used, for whoever has to do something about it.
package enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A newer Fleetwire wrote it.
    case newer(path: String, schema: Int, known: Int)
    /// An older Fleetwire wrote it, and it was opened only to read.
    case older(path: String, schema: Int, known: Int)
    /// Another gateway has it, or another process holds SQLite's own lock.
    case inUse(path: String, by: String?)
    /// Not an SQLite file, or a damaged one.
    case damaged(path: String, detail: String)
    /// An SQLite file of something else.
    case foreign(path: String)
    /// Neither found nor created, or not permitted.
    case unreachable(path: String, detail: String)
    case full(path: String)
    /// Phones are sealed with a key that is not configured.
    case keyMissing(path: String, key: String, devices: Int)
    /// A configured key does not open what was sealed with one of its name.
    case keyWrong(path: String, key: String, devices: Int)
    /// Anything else.
    case failed(path: String, DatabaseError)

    package init(_ error: DatabaseError, path: String) {
        self =
            switch error.kind {
            case .damaged: .damaged(path: path, detail: error.message)
            case .busy: .inUse(path: path, by: nil)
            case .unreachable, .forbidden: .unreachable(path: path, detail: error.message)
            case .full: .full(path: path)
            case .temporary, .other: .failed(path: path, error)
            }
    }

    package var description: String {
        switch self {
        case .newer(let path, let schema, let known):
            "\(path) was written by a newer Fleetwire (schema \(schema), this one knows \(known)): "
                + "run that version, or set store.path to another file"
        case .older(let path, let schema, let known):
            "\(path) was written by an older Fleetwire (schema \(schema), this one reads \(known)): "
                + "`fleetwire serve` brings it up to date"
        case .inUse(let path, let holder):
            "\(path) is in use by \(holder ?? "another process"): stop it, or set store.path to another file"
        case .damaged(let path, let detail):
            "\(path) is not a database or is damaged (\(detail)): restore it from a backup, "
                + "or move it and the files \(path)-wal and \(path)-shm away to start with an empty one"
        case .foreign(let path):
            "\(path) is a database of another program: set store.path to another file"
        case .unreachable(let path, let detail):
            "\(path) cannot be opened (\(detail)): see that the directory exists and that this user may write to it"
        case .full(let path):
            "the disk of \(path) is full: make room, then try again"
        case .keyMissing(let path, let key, let devices):
            "open \(path): it holds \(devices) devices sealed with the key '\(key)', which store.encryption_keys does not list: "
                + "list it behind the first, which they are then sealed with anew; \(Self.ifLost(key))"
        case .keyWrong(let path, let key, let devices):
            "open \(path): it holds \(devices) devices sealed with another key than '\(key)' in store.encryption_keys: "
                + "give that one back its key, and a new key an id of its own; \(Self.ifLost(key))"
        case .failed(let path, let error):
            "\(path): \(error)"
        }
    }

    private static func ifLost(_ key: String) -> String {
        "if it is lost, delete them (DELETE FROM devices WHERE key_id = '\(key)'): phones register again when their apps start"
    }
}
