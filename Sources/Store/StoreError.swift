/// Why the store cannot be opened or used. The operator reads the word "cannot" followed by ``description``. Most
/// descriptions end with what the operator can do.
package enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// `schema`, the file's schema version, is newer than `known`, the schema version of this program.
    case newer(path: String, schema: Int, known: Int)
    /// `schema`, the file's schema version, is older than `known`, the schema version of this program. This is an error
    /// only when the store is opened for reading: opening it for writing migrates the file.
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
    /// The store contains push tokens that are encrypted with a key whose id, `key`, is not configured. `devices` is
    /// the number of devices with such tokens.
    case keyMissing(path: String, key: String, devices: Int)
    /// A key with the id `key` is configured, but it does not decrypt the push tokens that were encrypted under this
    /// id. `devices` is the number of devices with such tokens.
    case keyWrong(path: String, key: String, devices: Int)
    /// Another database error.
    case failed(path: String, DatabaseError)

    /// Maps a database error to the reason that the operator gets.
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
            "open \(path): the tokens of \(devices) devices are encrypted with the key '\(key)', which store.encryption_keys "
                + "does not list. Add the key after the first one; the tokens are then re-encrypted with the first. "
                + Self.ifLost(key)
        case .keyWrong(let path, let key, let devices):
            "open \(path): the tokens of \(devices) devices are encrypted with an earlier key '\(key)', but "
                + "store.encryption_keys lists a different key under this id. Restore the earlier key under this id, and "
                + "give the new key another id. \(Self.ifLost(key))"
        case .failed(let path, let error):
            "use \(path): \(error)"
        }
    }

    /// What the operator can do if a key is lost.
    private static func ifLost(_ key: String) -> String {
        "If the key that encrypted the tokens is lost, delete these devices (DELETE FROM devices WHERE key_id = '\(key)'): each "
            + "device registers again when its app starts."
    }
}
