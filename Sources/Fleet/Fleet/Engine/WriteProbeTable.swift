/// At most one row, which is written to find out whether the store can be written.
struct WriteProbeTable {
    /// About as many bytes as a command writes.
    private static let bytes = 32_768

    let database: Database

    func insert() throws(DatabaseError) {
        try database.change(
            "INSERT INTO write_probe (id, filler) VALUES (1, ?) ON CONFLICT (id) DO NOTHING",
            .blob([UInt8](repeating: 0, count: Self.bytes)))
    }

    func remove() throws(DatabaseError) { try database.change("DELETE FROM write_probe") }
}
