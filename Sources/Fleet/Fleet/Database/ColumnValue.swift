import JSON
import Primitives

/// A type whose values columns hold.
protocol ColumnValue {
    /// The value as it is stored.
    var sqlValue: SQLValue { get }

    /// Reads a column; nil if it has a value that Fleetwire does not write.
    init?(_ row: Row, _ column: Int32)

    /// A placeholder for when nothing is read.
    static var blank: Self { get }
}

/// NULL is nil. A value that Fleetwire does not write is nil, too: the value is optional, so it is not worth an error.
extension Optional: ColumnValue where Wrapped: ColumnValue {
    var sqlValue: SQLValue { self?.sqlValue ?? .null }
    init?(_ row: Row, _ column: Int32) { self = row.isNull(column) ? nil : Wrapped(row, column) }
    static var blank: Self { nil }
}

extension String: ColumnValue {
    var sqlValue: SQLValue { .string(self) }
    init?(_ row: Row, _ column: Int32) { self = row.string(column) }
    static var blank: String { "" }
}

extension Int64: ColumnValue {
    var sqlValue: SQLValue { .integer(self) }
    init?(_ row: Row, _ column: Int32) { self = row.integer(column) }
    static var blank: Int64 { 0 }
}

extension Int: ColumnValue {
    var sqlValue: SQLValue { .integer(self) }
    init?(_ row: Row, _ column: Int32) { self = Int(row.integer(column)) }
    static var blank: Int { 0 }
}

/// 1 is true.
extension Bool: ColumnValue {
    var sqlValue: SQLValue { .flag(self) }
    init?(_ row: Row, _ column: Int32) { self = row.integer(column) == 1 }
    static var blank: Bool { false }
}

/// Stored as text that keeps all digits.
extension Double: ColumnValue {
    var sqlValue: SQLValue { .string("\(self)") }
    init?(_ row: Row, _ column: Int32) { self.init(row.string(column)) }
    static var blank: Double { 0 }
}

/// Stored as a blob. For text see ``ColumnForm/utf8``.
extension [UInt8]: ColumnValue {
    var sqlValue: SQLValue { .blob(self) }
    init?(_ row: Row, _ column: Int32) { self = row.bytes(column) }
    static var blank: [UInt8] { [] }
}

extension Identifier: ColumnValue {
    var sqlValue: SQLValue { .string(text) }
    init?(_ row: Row, _ column: Int32) { self.init(row.string(column)) }
    static var blank: Identifier { Identifier("") }
}

extension ObjectID: ColumnValue {
    var sqlValue: SQLValue { .string(text) }
    init?(_ row: Row, _ column: Int32) { self.init(row.string(column)) }
    static let blank = ObjectID(String(repeating: "0", count: 24))!
}

/// Stored as text, with the digits that the client sent.
extension JSONNumber: ColumnValue {
    var sqlValue: SQLValue { .string(text) }

    init?(_ row: Row, _ column: Int32) {
        if row.isNull(column) { return nil }
        self.init(text: row.string(column))
    }

    static var blank: JSONNumber { JSONNumber(text: "0") }
}

/// Enumerations are stored by their raw values.
extension ColumnValue where Self: RawRepresentable & CaseIterable, RawValue == String {
    var sqlValue: SQLValue { .string(rawValue) }
    init?(_ row: Row, _ column: Int32) { self.init(rawValue: row.string(column)) }
    static var blank: Self { allCases[allCases.startIndex] }
}

/// A form in which a column holds a value: for types that are no ``ColumnValue``, or that have several forms.
struct ColumnForm<Value> {
    /// See ``ColumnValue/sqlValue``.
    let sqlValue: (Value) -> SQLValue
    /// Reads a column; nil if it has a value that Fleetwire does not write.
    let read: (Row, Int32) -> Value?
    /// See ``ColumnValue/blank``.
    let blank: Value
}

extension ColumnForm<[UInt8]> {
    /// Text, mostly JSON.
    static var utf8: ColumnForm { ColumnForm(sqlValue: { .utf8($0) }, read: { $0.bytes($1) }, blank: []) }
}

extension ColumnForm<[UInt8]?> {
    /// Text, mostly JSON.
    static var utf8: ColumnForm { ColumnForm(sqlValue: { .utf8($0) }, read: { $0.optionalBytes($1) }, blank: nil) }
}

extension ColumnForm<String> {
    /// A text that is not NULL.
    static var present: ColumnForm {
        ColumnForm(sqlValue: { .string($0) }, read: { $0.isNull($1) ? nil : $0.string($1) }, blank: "")
    }
    static var packedText: ColumnForm {
        ColumnForm(sqlValue: { .blob(PackedText.pack($0)) }, read: { PackedText.unpack($0.bytes($1)) }, blank: "")
    }
    static var packedWord: ColumnForm {
        ColumnForm(sqlValue: { .string(PackedWord.pack($0)) }, read: { PackedWord.unpack($0.string($1)) }, blank: "")
    }
}

extension ColumnForm<String?> {
    static var packedText: ColumnForm {
        ColumnForm(
            sqlValue: { text in text.map { .blob(PackedText.pack($0)) } ?? .null },
            read: { row, column in .some(row.optionalBytes(column).map(PackedText.unpack)) }, blank: nil)
    }
}

extension Row {
    /// Reads a value.
    /// - Parameter name: the column's name, for the error.
    /// - Throws: ``DatabaseError`` of kind `unreadable`.
    @inline(__always) func value<Value: ColumnValue>(_ column: Int32, _ name: String) throws(DatabaseError) -> Value {
        guard let value = Value(self, column) else { throw unreadable(name, column) }
        return value
    }

    /// The same in another form.
    @inline(__always) func value<Value>(
        _ column: Int32, _ name: String, as form: ColumnForm<Value>
    ) throws(DatabaseError) -> Value {
        guard let value = form.read(self, column) else { throw .unreadable("the \(name)", doing: sql) }
        return value
    }

    // Not inlined, so that ``value(_:_:)`` is short.
    @inline(never) private func unreadable(_ name: String, _ column: Int32) -> DatabaseError {
        .unreadable("the \(name) '\(string(column))'", doing: sql)
    }
}
