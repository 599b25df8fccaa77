/// Why the store cannot be opened or used. The operator reads the word "cannot" followed by ``description``. Most
/// descriptions end with what the operator can do.
package enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// `schema`, the store's schema version, is newer than `known`, the schema version of this program.
    case newer(StoreAddress, schema: Int, known: Int)
    /// `schema`, the store's schema version, is older than `known`, the schema version of this program. This is an error
    /// only when the store is opened for reading: opening it for writing migrates the file.
    case older(StoreAddress, schema: Int, known: Int)
    /// Another gateway or another program has locked the store. `by` names the process (`process 7`); nil if unknown.
    case inUse(StoreAddress, by: String?)
    /// The file is not a database, or it is corrupt.
    case damaged(StoreAddress, detail: String)
    /// It is a database of another program.
    case foreign(StoreAddress)
    /// The store cannot be opened or created: a missing directory, a missing permission, a server that does not answer.
    case unreachable(StoreAddress, detail: String)
    /// The database is not made as the store needs it. `detail` says what to do.
    case unfit(StoreAddress, detail: String)
    /// The disk is full.
    case full(StoreAddress)
    /// The store contains push tokens that are encrypted with a key whose id, `key`, is not configured. `devices` is
    /// the number of devices with such tokens.
    case keyMissing(StoreAddress, key: String, devices: Int)
    /// A key with the id `key` is configured, but it does not decrypt the push tokens that were encrypted under this
    /// id. `devices` is the number of devices with such tokens.
    case keyWrong(StoreAddress, key: String, devices: Int)
    /// Another database error.
    case failed(StoreAddress, DatabaseError)

    /// Maps a database error to the reason that the operator gets.
    package init(_ error: DatabaseError, _ address: StoreAddress) {
        self =
            switch (error.kind, address) {
            case (.damaged, _), (.unreadable, _): .damaged(address, detail: error.message)
            // Who has locked a file is another process that uses it; a server's locks have many reasons.
            case (.inUse, _), (.busy, .file): .inUse(address, by: nil)
            case (.unreachable, _), (.forbidden, _): .unreachable(address, detail: error.message)
            case (.unfit, _): .unfit(address, detail: error.message)
            case (.full, _): .full(address)
            case (.busy, _), (.temporary, _), (.other, _): .failed(address, error)
            }
    }

    package var description: String {
        switch self {
        case .newer(let address, let schema, let known):
            "open \(address): written by a newer Fleetwire (schema \(schema), this version supports \(known)). "
                + "Run that version, or \(Self.move(address))"
        case .older(let address, let schema, let known):
            "open \(address): written by an older Fleetwire (schema \(schema), this version reads \(known)). "
                + "Run `fleetwire serve` to migrate it."
        case .inUse(let address, let holder):
            "open \(address): in use by \(holder ?? "another process"). Stop it, or \(Self.move(address))"
        case .damaged(let address, let detail):
            "open \(address): not a database or damaged (\(detail)). Restore it from a backup, or \(Self.startEmpty(address))"
        case .foreign(let address):
            "open \(address): a database of another program: \(Self.move(address))"
        case .unreachable(let address, let detail):
            "open \(address): \(detail). \(Self.check(address))"
        case .unfit(let address, let detail): "open \(address): \(detail)"
        case .full(let address):
            "open \(address): the disk is full. Free some space, then try again."
        case .keyMissing(let address, let key, let devices):
            "open \(address): the tokens of \(devices) devices are encrypted with the key '\(key)', which store.encryption_keys "
                + "does not list. Add the key after the first one; the tokens are then re-encrypted with the first. "
                + Self.ifLost(key)
        case .keyWrong(let address, let key, let devices):
            "open \(address): the tokens of \(devices) devices are encrypted with an earlier key '\(key)', but "
                + "store.encryption_keys lists a different key under this id. Restore the earlier key under this id, and "
                + "give the new key another id. \(Self.ifLost(key))"
        case .failed(let address, let error):
            "use \(address): \(error)"
        }
    }

    private static func move(_ address: StoreAddress) -> String {
        switch address {
        case .file: "set store.path to another file."
        case .postgres: "set store.url to another database."
        }
    }

    private static func startEmpty(_ address: StoreAddress) -> String {
        switch address {
        case .file(let path): "move it, \(path)-wal and \(path)-shm away to start with an empty store."
        case .postgres: move(address)
        }
    }

    private static func check(_ address: StoreAddress) -> String {
        switch address {
        case .file: "Check that the directory exists and that this user can write to it."
        case .postgres: "Check store.url, that the server runs, and that the user may connect to the database."
        }
    }

    /// What the operator can do if a key is lost.
    private static func ifLost(_ key: String) -> String {
        "If the key that encrypted the tokens is lost, delete these devices (DELETE FROM devices WHERE key_id = '\(key)'): each "
            + "device registers again when its app starts."
    }
}
