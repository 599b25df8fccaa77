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
        case .postgres(let uri): PostgresURI(uri)?.description ?? "a PostgreSQL database"
        }
    }

    /// Why libpq cannot read the URI of a database, and what to do; nil if it can. Shows no part of a password.
    package var problem: String? {
        guard case .postgres(let uri) = self, PostgresURI(uri) == nil else { return nil }
        let unknown = PostgresURI.unknownParameters(uri)
        guard !unknown.isEmpty else {
            return "is no connection URI: encode special characters of the password, such as %2F for /"
        }
        let hints = unknown.compactMap(PostgresURI.hint).map { "; \($0)" }.joined()
        return "has parameters that libpq does not know, remove them: \(unknown.joined(separator: ", "))\(hints)"
    }

    /// Connects to a database server, and checks that the database has what the store needs, and is empty or has a schema
    /// that this program knows. Does nothing for a file, which only its gateway opens.
    /// - Returns: whether there was a server to connect to.
    package func check() throws(StoreError) -> Bool {
        guard case .postgres(let uri) = self else { return false }
        let connection = try Database.attempt(self) { () throws(DatabaseError) in try PostgresConnection(uri, .reading) }
        let isCurrent = try Migrations().isCurrent(Database(connection, self))
        if !isCurrent { try Database.attempt(self) { () throws(DatabaseError) in try connection.checkMayCreate() } }
        return true
    }

    /// The accounts of customers to which nobody can sign in, because another account has the same phone.
    /// - Returns: the ids of each of them and of the other account; none if the store does not exist yet, or the next start
    ///   migrates it, which looks for them.
    package func customersWithOnePhone() -> [(id: Int64, other: Int64)] {
        guard let database = try? Database.open(readingFrom: self) else { return [] }
        return (try? CustomerTable(database: database).duplicates()) ?? []
    }
}
