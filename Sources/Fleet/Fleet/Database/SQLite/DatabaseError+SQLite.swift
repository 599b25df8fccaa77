import CSQLite

extension DatabaseError {
    /// - Parameter result: SQLite's extended result code, such as `SQLITE_IOERR_WRITE`.
    init(sqlite result: Int32, message: String, doing: String) {
        self.init(Self.kind(result & 0xFF), code: "SQLite error \(result)", message: message, doing: doing)
    }

    private static func kind(_ primary: Int32) -> Kind {
        switch primary {
        case SQLITE_BUSY: .busy
        case SQLITE_FULL: .full
        case SQLITE_NOTADB, SQLITE_CORRUPT: .damaged
        case SQLITE_CANTOPEN, SQLITE_READONLY: .unreachable
        case SQLITE_PERM: .forbidden
        case SQLITE_IOERR, SQLITE_NOMEM, SQLITE_PROTOCOL, SQLITE_LOCKED: .temporary
        default: .other
        }
    }
}
