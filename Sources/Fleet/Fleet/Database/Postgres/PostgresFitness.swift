/// What a database must be like, so that the store works: asked once in each session, because a server's operator may change
/// it while the gateway runs.
struct PostgresFitness {
    /// As the server names it, such as `UTF8`.
    let encoding: String
    /// The schema in which tables are created and found; nil if none of the search path exists or may be used.
    let schema: String?
    /// Whether this user may create tables there.
    let mayCreate: Bool
    let searchPath: String
    let user: String

    init(_ session: PostgresSession) throws(DatabaseError) {
        let row = try session.query(
            """
            SELECT current_setting('server_encoding'), COALESCE(current_schema(), ''), \
            CASE WHEN has_schema_privilege(current_schema(), 'CREATE') THEN 'yes' ELSE 'no' END, \
            current_setting('search_path'), current_user
            """)
        let schema = row.string(0, 1)
        self.init(
            encoding: row.string(0, 0), schema: schema.isEmpty ? nil : schema, mayCreate: row.string(0, 2) == "yes",
            searchPath: row.string(0, 3), user: row.string(0, 4))
    }

    init(encoding: String, schema: String?, mayCreate: Bool, searchPath: String, user: String) {
        self.encoding = encoding
        self.schema = schema
        self.mayCreate = mayCreate
        self.searchPath = searchPath
        self.user = user
    }

    /// Throws an error if the store cannot work here.
    func check() throws(DatabaseError) {
        guard encoding == "UTF8" else {
            throw unfit(
                "the database has the encoding \(encoding), which lacks characters of names and texts. Make one with "
                    + "createdb --encoding UTF8 --template template0")
        }
        guard schema != nil else {
            throw unfit(
                "no schema of the search_path exists that the user \(user) may use: \(searchPath). Create one, or grant USAGE on it"
            )
        }
    }

    /// Throws an error if tables cannot be created here.
    func checkMayCreate() throws(DatabaseError) {
        guard !mayCreate else { return }
        let schema = schema ?? searchPath
        throw unfit(
            "the user \(user) may not create tables in the schema \(schema). GRANT CREATE, USAGE ON SCHEMA \(schema) TO "
                + "\(user), or make the user the database's owner")
    }

    private func unfit(_ message: String) -> DatabaseError {
        DatabaseError(.unfit, code: "PostgreSQL error", message: message, doing: "looking at the database")
    }
}
