/// A table whose rows hold records. Its statements are composed of the columns that ``RowRecord/columns(_:)`` lists.
/// It is a class so that using it copies no texts.
final class Table<Record: RowRecord>: Sendable {
    let name: String
    /// The columns that are not part of the record. In statements they follow the record's columns.
    let others: [String]
    /// All columns, for an INSERT.
    let columnList: String
    /// A `?` for each column, for an INSERT.
    let placeholders: String
    /// Inserts a row.
    let insert: SQL
    /// Inserts a row unless the table has one with the same key.
    let insertNew: SQL
    /// Inserts a row, or updates the row with the same key.
    let upsert: SQL
    /// The number of the first column after the record's columns.
    let end: Int32

    /// - Parameters:
    ///   - key: the columns of the primary key.
    ///   - constant: further columns that an update does not change.
    ///   - update: further assignments of an update, as SQL.
    init(_ name: String, key: [String], others: [String] = [], constant: [String] = [], update: [String] = []) {
        self.name = name
        self.others = others
        let columns = Record.columnNames + others
        end = Int32(columns.count - others.count)
        columnList = columns.joined(separator: ", ")
        placeholders = columns.map { _ in "?" }.joined(separator: ", ")
        let changing = columns.filter { !key.contains($0) && !constant.contains($0) }
        let assignments = changing.map { "\($0) = excluded.\($0)" } + update
        let insertion = "INSERT INTO \(name) (\(columnList)) VALUES (\(placeholders))"
        let conflict = "ON CONFLICT (\(key.joined(separator: ", "))) DO"
        insert = SQL(insertion)
        insertNew = SQL("\(insertion) \(conflict) NOTHING")
        upsert = SQL("\(insertion) \(conflict) UPDATE SET \(assignments.joined(separator: ", "))")
    }

    /// The values of a row, in the order of ``columnList``.
    /// - Parameter others: the values of ``others``. Without them, the result has the record's values only.
    func values(of record: borrowing Record, _ others: SQLValue...) -> [SQLValue] {
        withUnsafePointer(to: record) { record in
            Array(unsafeUninitializedCapacity: Int(end) + others.count) { values, count in
                var writer = RecordWriter(record: record, next: values.baseAddress!)
                _ = try? Record.columns(&writer)
                // Behind the last written value, memory is not initialised.
                precondition(writer.next == values.baseAddress! + Int(end), "a record's columns are always the same")
                for value in others { writer.append(value) }
                count = values.count
            }
        }
    }

    /// A statement that reads records.
    /// - Parameters:
    ///   - clauses: the text after the table's name.
    ///   - more: expressions to read after the record's columns, the first as column ``end``.
    func select(_ clauses: String, and more: String...) -> SQL {
        SQL("SELECT \((Record.columnNames + more).joined(separator: ", ")) FROM \(name) \(clauses)")
    }
}
