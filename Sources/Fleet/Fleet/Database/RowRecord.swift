/// A value that is stored in columns.
protocol RowRecord {
    /// Lists the columns and makes a record of their values. Calls `column` once for each column, always in the same order,
    /// with the column's name and the property that it holds.
    ///
    /// It also runs to collect the names and to write a record. Then nothing is read: each call returns a blank value, and the
    /// result is discarded.
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self
}

extension RowRecord {
    /// Reads a record.
    /// - Parameter start: the number of the record's first column.
    /// - Throws: ``DatabaseError`` of kind `unreadable` if a column has a value that Fleetwire does not write.
    init(row: Row, at start: Int32) throws(DatabaseError) {
        var reader = RecordReader<Self>(row: row, column: start)
        self = try Self.columns(&reader)
    }

    /// Reads the record that a row begins with.
    init(row: Row) throws(DatabaseError) { try self.init(row: row, at: 0) }

    /// The number of a column in rows that begin with a record.
    static func number(of name: String) -> Int32 {
        guard let number = columnNames.firstIndex(of: name) else { preconditionFailure("there is no column \(name)") }
        return Int32(number)
    }

    static var columnNames: [String] {
        var names = ColumnNames<Self>()
        _ = try? columns(&names)
        return names.names
    }

    /// The names separated by commas, for a SELECT.
    static var columnList: String { columnNames.joined(separator: ", ") }
}
