/// Where the store is.
package enum StoreAddress: Equatable, Sendable, CustomStringConvertible {
    /// The path of an SQLite file.
    case file(String)
    /// A PostgreSQL database, as a connection URI of libpq (PostgreSQL documentation, "Connection URIs"). It may contain a
    /// password.
    case postgres(String)

    /// The path, or the URI without its password and parameters, for messages.
    package var description: String {
        switch self {
        case .file(let path): path
        case .postgres(let uri): Self.redacted(uri)
        }
    }

    /// Connects to a database server, and checks that this program can use the database. Does nothing for a file, which
    /// only its gateway opens.
    /// - Returns: whether there was a server to connect to.
    package func check() throws(StoreError) -> Bool {
        guard case .postgres(let uri) = self else { return false }
        let connection = try Database.attempt(self) { () throws(DatabaseError) in try PostgresConnection(uri, .reading) }
        try Migrations().checkBeforeWriting(Database(connection, self))
        return true
    }

    private static func redacted(_ uri: String) -> String {
        let address = uri.prefix { $0 != "?" }
        guard let scheme = address.firstRange(of: "://") else { return "a PostgreSQL database" }
        let rest = address[scheme.upperBound...]
        // A password may contain `@` only as %40, but what an operator has written wrongly must not be shown either.
        guard let at = rest.lastIndex(of: "@") else { return String(address) }
        let user = rest[..<at].prefix { $0 != ":" }
        return String(address[..<scheme.upperBound] + user + rest[at...])
    }
}
