import CSQLite

/// What SQLite says went wrong, and at what.
package struct SQLiteError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The primary result code: `SQLITE_FULL`.
    package let code: Int32
    /// The extended one: `SQLITE_IOERR_WRITE`.
    package let extendedCode: Int32
    package let message: String
    /// The statement, or a word such as "opening". Values are bound, so no one's data is in it.
    package let doing: String

    package init(extendedCode: Int32, message: String, doing: String) {
        code = extendedCode & 0xFF
        self.extendedCode = extendedCode
        self.message = message
        self.doing = doing
    }

    /// A row that holds what nobody wrote.
    static func misread(_ what: String, doing: String) -> SQLiteError {
        SQLiteError(extendedCode: SQLITE_CORRUPT, message: "cannot read \(what)", doing: doing)
    }

    package var description: String { "SQLite error \(extendedCode) (\(message)) while \(doing)" }

    /// Whether somebody else was in the way.
    var isBusy: Bool { code == SQLITE_BUSY }

    /// Whether the same may succeed later, when the disk has room or the other process has let go.
    package var isTransient: Bool {
        switch code {
        case SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM, SQLITE_BUSY, SQLITE_LOCKED, SQLITE_READONLY, SQLITE_CANTOPEN,
            SQLITE_PROTOCOL:
            true
        default: false
        }
    }
}
