/// A statement's text at a fixed address. The address identifies the statement in the cache of ``Database``.
///
/// Plain text is passed as a literal: `database.first("SELECT …", …)`. Text composed of parts, such as a column list,
/// must be a static constant, which keeps its address: `static let byCode = SQL("SELECT \(columns) …")`.
struct SQL: ExpressibleByStringLiteral, Sendable {
    let address: UInt
    private let count: Int

    init(stringLiteral text: StaticString) {
        address = UInt(bitPattern: text.utf8Start)
        count = text.utf8CodeUnitCount
    }

    /// Copies composed text. The copy is never freed, so use this only for static constants.
    init(_ text: String) {
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
        _ = bytes.initialize(from: text.utf8)
        address = UInt(bitPattern: bytes.baseAddress)
        count = bytes.count
    }

    var text: String {
        String(decoding: UnsafeBufferPointer(start: UnsafePointer<UInt8>(bitPattern: address), count: count), as: UTF8.self)
    }
}

/// A value bound to a `?` of a statement.
enum SQLValue {
    case null
    case integer(Int64)
    case string(String)
    /// Text as UTF-8 bytes, mostly JSON.
    case utf8([UInt8])
    case blob([UInt8])

    static func integer(_ value: Int) -> SQLValue { .integer(Int64(value)) }
    static func integer(_ value: Int64?) -> SQLValue { value.map { .integer($0) } ?? .null }
    static func flag(_ value: Bool) -> SQLValue { .integer(value ? 1 : 0) }
    static func string(_ value: String?) -> SQLValue { value.map { .string($0) } ?? .null }
    static func utf8(_ value: [UInt8]?) -> SQLValue { value.map { .utf8($0) } ?? .null }
}

/// A row that a statement returns. Valid only inside the closure that receives it. Column numbers start at 0.
struct Row {
    let columns: any RowColumns

    /// The statement's text, for error messages.
    var sql: String { columns.sql }

    func isNull(_ column: Int32) -> Bool { columns.isNull(column) }

    func integer(_ column: Int32) -> Int64 { columns.integer(column) }

    func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    func string(_ column: Int32) -> String { String(decoding: columns.bytes(column), as: UTF8.self) }

    func optionalString(_ column: Int32) -> String? { isNull(column) ? nil : string(column) }

    func bytes(_ column: Int32) -> [UInt8] { Array(columns.bytes(column)) }

    func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
}
