/// Visits the columns of a record to read it, to write it, or to collect the names. ``RowRecord/columns(_:)`` calls it once for
/// each column: `try column("status", \.status)`.
///
/// The compiler specializes `columns` for each record and visitor, and turns key paths into direct accesses. It does so only if
/// the methods between them are inlined, hence `@inline(__always)`.
protocol ColumnVisitor<Record> {
    associatedtype Record: RowRecord

    /// Visits a column.
    /// - Parameters:
    ///   - name: the column's name, or the expression that a SELECT reads instead of a column.
    ///   - write: returns the value to store.
    ///   - read: reads the value from the column with the given number.
    /// - Returns: the value; nil if this visitor does not read.
    mutating func visit<Value>(
        _ name: String, write: (UnsafePointer<Record>) -> SQLValue, read: (Row, Int32) throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value?

    /// Visits the columns of a part of the record.
    /// - Parameters:
    ///   - part: returns the part; nil if the record has none. Then its columns are NULL.
    ///   - absence: when a part that is read counts as missing.
    ///   - rename: the names of the part's columns in this record.
    /// - Returns: nil if the part is missing.
    mutating func visit<Part: RowRecord>(
        _ part: (UnsafePointer<Record>) -> Part?, _ absence: PartAbsence, _ rename: (String) -> String
    ) throws(DatabaseError) -> Part?
}

/// When a part of a record counts as missing.
enum PartAbsence {
    case never
    /// If its first column is NULL.
    case null
    /// If its first column is NULL, or if one of its columns is unreadable.
    case unreadable
}

// MARK: Columns

extension ColumnVisitor {
    /// A column that holds a property.
    @inline(__always) mutating func callAsFunction<Value: ColumnValue>(
        _ name: String, _ path: KeyPath<Record, Value>
    ) throws(DatabaseError) -> Value {
        try visit(name, path) ?? .blank
    }

    /// A column that holds a property. Sets it in a record that exists already.
    @inline(__always) mutating func callAsFunction<Value: ColumnValue>(
        _ name: String, _ path: WritableKeyPath<Record, Value>, in record: inout Record
    ) throws(DatabaseError) {
        if let value = try visit(name, path) { record[keyPath: path] = value }
    }

    @inline(__always) private mutating func visit<Value: ColumnValue>(
        _ name: String, _ path: KeyPath<Record, Value>
    ) throws(DatabaseError) -> Value? {
        try visit(
            name, write: { $0.pointee[keyPath: path].sqlValue },
            read: { row, column throws(DatabaseError) in try row.value(column, name) })
    }

    /// A column that holds a property in another form than ``ColumnValue`` gives it.
    @inline(__always) mutating func callAsFunction<Value>(
        _ name: String, _ path: KeyPath<Record, Value>, as form: ColumnForm<Value>
    ) throws(DatabaseError) -> Value {
        try visit(name, path, form) ?? form.blank
    }

    /// The same for a record that exists already.
    @inline(__always) mutating func callAsFunction<Value>(
        _ name: String, _ path: WritableKeyPath<Record, Value>, as form: ColumnForm<Value>, in record: inout Record
    ) throws(DatabaseError) {
        if let value = try visit(name, path, form) { record[keyPath: path] = value }
    }

    @inline(__always) private mutating func visit<Value>(
        _ name: String, _ path: KeyPath<Record, Value>, _ form: ColumnForm<Value>
    ) throws(DatabaseError) -> Value? {
        try visit(
            name,
            write: { record in
                let value = record.pointee[keyPath: path]  // passed directly, it copies the whole record
                return form.sqlValue(value)
            },
            read: { row, column throws(DatabaseError) in try row.value(column, name, as: form) })
    }

    /// A column that holds a value derived from the record.
    @inline(__always) mutating func callAsFunction<Value: ColumnValue>(
        _ name: String, of value: (borrowing Record) -> Value
    ) throws(DatabaseError) -> Value {
        try visit(
            name, write: { value($0.pointee).sqlValue },
            read: { row, column throws(DatabaseError) in try row.value(column, name) }) ?? .blank
    }

    /// An expression that is read, and is not a column of the table.
    @inline(__always) mutating func callAsFunction<Value: ColumnValue>(
        reading expression: String
    ) throws(DatabaseError) -> Value {
        try visit(
            expression, write: { _ in .null },
            read: { row, column throws(DatabaseError) in try row.value(column, expression) }) ?? .blank
    }
}

// MARK: Parts

extension ColumnVisitor {
    /// The columns of a property that is a record itself.
    @inline(__always) mutating func part<Part: RowRecord>(
        _ path: KeyPath<Record, Part>, _ rename: (String) -> String = { $0 }
    ) throws(DatabaseError) -> Part {
        guard let part = try visit({ $0.pointee[keyPath: path] }, .never, rename) else {
            preconditionFailure("a part is missing")
        }
        return part
    }

    /// The same for a property that may be nil. Its columns are then NULL; otherwise the first of them must not be NULL.
    @inline(__always) mutating func part<Part: RowRecord>(
        orNull path: KeyPath<Record, Part?>, _ rename: (String) -> String = { $0 }
    ) throws(DatabaseError) -> Part? {
        try visit({ $0.pointee[keyPath: path] }, .null, rename)
    }

    /// The same for a property that becomes nil if it is unreadable, because it is not worth an error.
    @inline(__always) mutating func part<Part: RowRecord>(
        ifReadable path: KeyPath<Record, Part?>, _ rename: (String) -> String = { $0 }
    ) throws(DatabaseError) -> Part? {
        try visit({ $0.pointee[keyPath: path] }, .unreadable, rename)
    }
}

// MARK: Visitors

/// Collects the names of the columns.
struct ColumnNames<Record: RowRecord>: ColumnVisitor {
    private(set) var names: [String] = []

    mutating func visit<Value>(
        _ name: String, write: (UnsafePointer<Record>) -> SQLValue, read: (Row, Int32) throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value? {
        names.append(name)
        return nil
    }

    mutating func visit<Part: RowRecord>(
        _ part: (UnsafePointer<Record>) -> Part?, _ absence: PartAbsence, _ rename: (String) -> String
    ) throws(DatabaseError) -> Part? {
        var part = ColumnNames<Part>()
        defer { names += part.names.map(rename) }
        return try Part.columns(&part)
    }
}

/// Writes the values of the columns one after the other to memory that has room for all of them.
struct RecordWriter<Record: RowRecord>: ColumnVisitor {
    /// The record, which is not copied. Nil: all values are NULL.
    let record: UnsafePointer<Record>?
    /// Where the next value goes.
    private(set) var next: UnsafeMutablePointer<SQLValue>

    @inline(__always) mutating func append(_ value: SQLValue) {
        next.initialize(to: value)
        next += 1
    }

    @inline(__always) mutating func visit<Value>(
        _ name: String, write: (UnsafePointer<Record>) -> SQLValue, read: (Row, Int32) throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value? {
        if let record { append(write(record)) } else { append(.null) }
        return nil
    }

    @inline(__always) mutating func visit<Part: RowRecord>(
        _ part: (UnsafePointer<Record>) -> Part?, _ absence: PartAbsence, _ rename: (String) -> String
    ) throws(DatabaseError) -> Part? {
        guard let record, let part = part(record) else { return try visit(nil) }
        return try withUnsafePointer(to: part) { part throws(DatabaseError) in try visit(part) }
    }

    @inline(__always) private mutating func visit<Part: RowRecord>(_ part: UnsafePointer<Part>?) throws(DatabaseError) -> Part {
        var writer = RecordWriter<Part>(record: part, next: next)
        defer { next = writer.next }
        return try Part.columns(&writer)
    }
}

/// Reads the columns of a row.
struct RecordReader<Record: RowRecord>: ColumnVisitor {
    let row: Row
    /// The number of the next column.
    private(set) var column: Int32
    /// True if the columns belong to a missing part.
    private(set) var isSkipping = false

    @inline(__always) mutating func visit<Value>(
        _ name: String, write: (UnsafePointer<Record>) -> SQLValue, read: (Row, Int32) throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value? {
        defer { column += 1 }
        return isSkipping ? nil : try read(row, column)
    }

    @inline(__always) mutating func visit<Part: RowRecord>(
        _ part: (UnsafePointer<Record>) -> Part?, _ absence: PartAbsence, _ rename: (String) -> String
    ) throws(DatabaseError) -> Part? {
        let isMissing = isSkipping || absence != .never && row.isNull(column)
        do throws(DatabaseError) {
            let part: Part = try visit(isSkipping: isMissing)
            return isMissing && absence != .never ? nil : part
        } catch {
            guard absence == .unreadable else { throw error }
            let _: Part = try visit(isSkipping: true)
            return nil
        }
    }

    @inline(__always) private mutating func visit<Part: RowRecord>(isSkipping: Bool) throws(DatabaseError) -> Part {
        var reader = RecordReader<Part>(row: row, column: column, isSkipping: isSkipping)
        let part = try Part.columns(&reader)
        column = reader.column
        return part
    }
}
