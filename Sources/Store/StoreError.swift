/// Why the store cannot be opened. ``description`` is printed after "cannot " and, for most errors, ends with what the
/// operator can do.
package enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file's schema version, `schema`, is newer than that of this program, `known`.
    case newer(path: String, schema: Int, known: Int)
    /// The file's schema version is older than that of this program. An error only when the store is opened for
    /// reading: opening it for writing migrates it.
    case older(path: String, schema: Int, known: Int)
    /// Another gateway or another program has locked the file. `by` names the process (`process 7`); nil if unknown.
    case inUse(path: String, by: String?)
    /// The file is not a database, or it is corrupt.
    case damaged(path: String, detail: String)
    /// The file is a database of another program.
    case foreign(path: String)
    /// The file cannot be opened or created: a missing directory, a missing permission.
    case unreachable(path: String, detail: String)
    /// The disk is full.
    case full(path: String)
    /// The tokens of `devices` devices are encrypted with a key whose id, `key`, is not configured.
    case keyMissing(path: String, key: String, devices: Int)
    /// A key with the id `key` is configured, but it does not decrypt the tokens that were encrypted under this id.
    case keyWrong(path: String, key: String, devices: Int)
    /// Another database error.
    case failed(path: String, DatabaseError)

    /// Classifies a database error that occurs while the store is opened.
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
            "open \(path): written by a newer Fleetwire (schema \(schema), this version supports \(known)). "
                + "Run that version, or set store.path to another file."
        case .older(let path, let schema, let known):
            "open \(path): written by an older Fleetwire (schema \(schema), this version reads \(known)). "
                + "Run `fleetwire serve` to migrate it."
        case .inUse(let path, let holder):
            "open \(path): in use by \(holder ?? "another process"). Stop it, or set store.path to another file."
        case .damaged(let path, let detail):
            "open \(path): not a database or damaged (\(detail)). Restore it from a backup, "
                + "or move it, \(path)-wal and \(path)-shm away to start with an empty store."
        case .foreign(let path):
            "open \(path): a database of another program. Set store.path to another file."
        case .unreachable(let path, let detail):
            "open \(path): \(detail). Check that the directory exists and that this user can write to it."
        case .full(let path):
            "open \(path): the disk is full. Free some space, then try again."
        case .keyMissing(let path, let key, let devices):
            "open \(path): it contains \(devices) devices encrypted with the key '\(key)', which store.encryption_keys does not "
                + "list. Add the key after the first one; their tokens are then re-encrypted with the first. \(Self.ifLost(key))"
        case .keyWrong(let path, let key, let devices):
            "open \(path): it contains \(devices) devices encrypted with a key other than '\(key)' in store.encryption_keys. "
                + "Restore the old key under this id, and give a new key a new id. \(Self.ifLost(key))"
        case .failed(let path, let error):
            "use \(path): \(error)"
        }
    }

    /// What the operator can do if a key is lost.
    private static func ifLost(_ key: String) -> String {
        "If the key is lost, delete the devices (DELETE FROM devices WHERE key_id = '\(key)'): they register again when their "
            + "apps start."
    }
}
