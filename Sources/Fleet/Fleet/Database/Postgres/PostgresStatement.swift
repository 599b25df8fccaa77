/// A statement on a server. See ``PostgresText``.
final class PostgresStatement: DatabaseStatement {
    let text: PostgresText
    private let connection: PostgresConnection
    private var result: PostgresResult?
    private var row: Int32 = 0

    var sql: String { text.sql }

    init(_ text: PostgresText, on connection: PostgresConnection) {
        self.text = text
        self.connection = connection
    }

    func run(_ values: [SQLValue], _ body: (Row) throws(DatabaseError) -> Void) throws(DatabaseError) {
        precondition(result == nil, "a statement was started while it was running: \(sql)")
        try read(try connection.run(request(values)), body)
    }

    private func read<Failure>(_ rows: PostgresResult, _ body: (Row) throws(Failure) -> Void) throws(Failure) {
        result = rows
        defer { result = nil }
        for number in 0..<rows.rowCount {
            row = number
            try body(Row(columns: self))
        }
    }

    func change(_ values: [SQLValue], _ body: ((Row) -> Void)?) throws(DatabaseError) {
        var request = request(values)
        if let body { request.onResult = { self.read($0, body) } }
        try connection.change(request)
    }

    func prefetch(_ values: [SQLValue]) { connection.prefetch(request(values)) }

    private func request(_ values: [SQLValue]) -> PostgresRequest {
        precondition(values.count == text.parameterCount, "number of values differs from number of parameters: \(sql)")
        return PostgresRequest(text: text, values: values)
    }

    func isNull(_ column: Int32) -> Bool { current.isNull(row, column) }

    func integer(_ column: Int32) -> Int64 { current.integer(row, column) }

    func bytes(_ column: Int32) -> UnsafeRawBufferPointer { current.bytes(row, column) }

    private var current: PostgresResult {
        guard let result else { preconditionFailure("a row was read after its statement had ended: \(sql)") }
        return result
    }

    /// Replaces each `?` outside of string constants with a number.
    static func numbered(_ sql: String) -> (sql: String, count: Int) {
        var (text, count, isConstant) = ("", 0, false)
        for character in sql {
            if character == "'" { isConstant.toggle() }
            if character == "?", !isConstant {
                count += 1
                text += "$\(count)"
            } else {
                text.append(character)
            }
        }
        return (text, count)
    }
}
