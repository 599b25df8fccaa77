extension Schema {
    /// Version 16: how a gateway finds out whether a PostgreSQL server has done a commit to which it got no response.
    static let commitMarks = [
        // The mark of each writer's last commit. SQLite files have the table, too, and leave it empty.
        "CREATE TABLE commit_marks (writer TEXT NOT NULL PRIMARY KEY, mark TEXT NOT NULL)"
    ]
}
