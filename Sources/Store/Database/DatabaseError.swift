/// An error of the database, independent of the driver.
package struct DatabaseError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Classes of errors that callers treat differently. Each driver maps its own codes to them.
    package enum Kind: Sendable {
        /// Another process or session holds a lock.
        case busy
        /// The disk or quota is full.
        case full
        /// The file is not a database, is corrupt, or contains a value that Fleetwire does not write.
        case damaged
        /// The database cannot be opened or written at the moment.
        case unreachable
        /// The process lacks a permission.
        case forbidden
        /// Another transient condition: an I/O error, out of memory.
        case temporary
        /// Everything else: a violated constraint, invalid SQL.
        case other
    }

    /// The class of the error.
    package let kind: Kind
    /// The driver and its own code: `SQLite error 2067`.
    package let code: String
    /// The driver's text.
    package let message: String
    /// The statement's text, or a word such as `opening`. Values are bound, so the text contains no personal data.
    package let doing: String

    package init(_ kind: Kind, code: String, message: String, doing: String) {
        self.kind = kind
        self.code = code
        self.message = message
        self.doing = doing
    }

    /// A row contains a value that Fleetwire does not write.
    /// - Parameter value: names the value: `the status 'lost'`.
    static func misread(_ value: String, doing: String) -> DatabaseError {
        DatabaseError(.damaged, code: "Database error", message: "cannot read \(value)", doing: doing)
    }

    package var description: String { "\(code) (\(message)) while \(doing)" }

    /// True if a lock is the reason.
    var isBusy: Bool { kind == .busy }

    /// True if a retry may succeed: after the disk has space again or another process has released its lock.
    package var isTransient: Bool {
        switch kind {
        case .busy, .full, .unreachable, .temporary: true
        case .damaged, .forbidden, .other: false
        }
    }
}
