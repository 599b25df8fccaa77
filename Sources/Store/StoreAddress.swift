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

    /// Whether the URI of a database is one that libpq can read.
    package var isValid: Bool {
        switch self {
        case .file: true
        case .postgres(let uri): PostgresURI(uri) != nil
        }
    }

    /// Connects to a database server, and checks that the database is empty or has a schema that this program knows. Does
    /// nothing for a file, which only its gateway opens.
    /// - Returns: whether there was a server to connect to.
    package func check() throws(StoreError) -> Bool {
        guard case .postgres(let uri) = self else { return false }
        let connection = try Database.attempt(self) { () throws(DatabaseError) in try PostgresConnection(uri, .reading) }
        try Migrations().checkBeforeWriting(Database(connection, self))
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
