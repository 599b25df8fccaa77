/// Rows of values as bytes, in the order and with the meaning that tables have: so what tables read and write need not be
/// described a second time.
struct RowWriter {
    private(set) var bytes: [UInt8] = []

    /// Appends a row.
    /// - Parameter kind: what kind of row it is.
    mutating func append(_ kind: UInt8, _ values: [SQLValue]) {
        bytes.append(kind)
        bytes.append(UInt8(values.count))
        for value in values { append(value) }
    }

    private mutating func append(_ value: SQLValue) {
        switch value {
        case .null: bytes.append(0)
        case .integer(let number):
            bytes.append(1)
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        case .string(let text): append(Array(text.utf8))
        case .utf8(let content), .blob(let content): append(content)
        }
    }

    private mutating func append(_ content: [UInt8]) {
        bytes.append(2)
        withUnsafeBytes(of: UInt32(content.count).bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: content)
    }
}

/// Reads what ``RowWriter`` has written.
struct RowReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The next row, as tables read it.
    /// - Returns: nil at the end.
    /// - Throws: an error of kind `damaged` if the bytes are no rows.
    mutating func next() throws(DatabaseError) -> (kind: UInt8, row: Row)? {
        guard position < bytes.count else { return nil }
        let kind = UInt8(try number(1))
        let count = try number(1)
        var values: [SQLValue] = []
        for _ in 0..<count { values.append(try value()) }
        return (kind, Row(columns: StoredRow(values)))
    }

    private mutating func value() throws(DatabaseError) -> SQLValue {
        switch try number(1) {
        case 0: return .null
        case 1: return .integer(Int64(truncatingIfNeeded: try number(8)))
        case 2: return .blob(Array(try take(Int(try number(4)))))
        default: throw Self.damaged
        }
    }

    /// A number of `count` bytes in network byte order.
    private mutating func number(_ count: Int) throws(DatabaseError) -> UInt64 {
        try take(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func take(_ count: Int) throws(DatabaseError) -> ArraySlice<UInt8> {
        guard count <= bytes.count - position else { throw Self.damaged }
        defer { position += count }
        return bytes[position..<position + count]
    }

    static let damaged = DatabaseError.unreadable("a record of the cluster's log", doing: "reading the log")
}

/// A row that was not read from a database.
private final class StoredRow: RowColumns {
    let sql = "reading the cluster's log"
    private let values: [SQLValue]
    /// Of each text or blob, so that ``bytes(_:)`` has an address.
    private let contents: [UnsafeMutableRawBufferPointer]

    init(_ values: [SQLValue]) {
        self.values = values
        contents = values.map { value in
            guard case .blob(let content) = value else { return UnsafeMutableRawBufferPointer(start: nil, count: 0) }
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: content.count, alignment: 1)
            copy.copyBytes(from: content)
            return copy
        }
    }

    deinit { for content in contents { content.deallocate() } }

    func isNull(_ column: Int32) -> Bool {
        guard let value = value(column) else { return true }
        if case .null = value { return true }
        return false
    }

    func integer(_ column: Int32) -> Int64 {
        if case .integer(let number)? = value(column) { number } else { 0 }
    }

    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        contents.indices.contains(Int(column))
            ? UnsafeRawBufferPointer(contents[Int(column)]) : UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Nil for columns that a node of another version has not written.
    private func value(_ column: Int32) -> SQLValue? { values.indices.contains(Int(column)) ? values[Int(column)] : nil }
}
