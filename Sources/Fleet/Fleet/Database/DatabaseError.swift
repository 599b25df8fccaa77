/// An error of the database, in terms that do not depend on the database driver.
package struct DatabaseError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Classes of errors that callers treat differently. Each database driver maps its own codes to them.
    package enum Kind: Sendable {
        /// Another gateway has the store: it holds the lock that admits one.
        case inUse
        /// Another process or session has locked the database.
        case busy
        /// The disk or quota is full.
        case full
        /// The file is not a database, or pages of it are damaged.
        case damaged
        /// A row contains a value that Fleetwire does not write.
        case unreadable
        /// The database cannot be opened or written at the moment.
        case unreachable
        /// The process lacks a permission.
        case forbidden
        /// The database is not made as the store needs it: its encoding, its schemas.
        case unfit
        /// Another transient condition: an I/O error, out of memory, a lock held by this process itself.
        case temporary
        /// Everything else: a violated constraint, invalid SQL.
        case other
    }

    /// The class of the error.
    package let kind: Kind
    /// The database driver's name and its own code: `SQLite error 2067`.
    package let code: String
    /// The database driver's text.
    package let message: String
    /// The text of the statement that failed, or a word such as `opening`. Values are bound to parameters, so the text
    /// contains no personal data.
    package let doing: String

    package init(_ kind: Kind, code: String, message: String, doing: String) {
        self.kind = kind
        self.code = code
        self.message = message
        self.doing = doing
    }

    /// The error for a row that contains a value that Fleetwire does not write.
    /// - Parameter value: a name for the value, such as `the status 'lost'`.
    static func unreadable(_ value: String, doing: String) -> DatabaseError {
        DatabaseError(.unreadable, code: "Database error", message: "cannot read \(value)", doing: doing)
    }

    package var description: String { "\(code) (\(message)) while \(doing)" }

    /// True if the reason is a lock of another process or session.
    var isBusy: Bool { kind == .busy }

    /// True if a later retry may succeed, for example when the disk has space again or another process has released its
    /// lock.
    package var isTransient: Bool {
        switch kind {
        case .inUse, .busy, .full, .unreachable, .temporary: true
        case .damaged, .unreadable, .forbidden, .unfit, .other: false
        }
    }
}
