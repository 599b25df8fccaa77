/// A statement that each session prepares when it first runs it.
final class PostgresStatement: DatabaseStatement {
    let sql: String
    /// The text with `$1`, `$2`, … for its parameters.
    let numberedSQL: String
    /// The name under which sessions prepare it.
    let name: String
    private let parameterCount: Int
    private let connection: PostgresConnection
    /// The number of the session that has prepared it.
    var preparedBy: Int?
    private var result: PostgresResult?
    private var row: Int32 = 0

    init(_ sql: String, name: String, on connection: PostgresConnection) {
        self.sql = sql
        self.name = name
        self.connection = connection
        (numberedSQL, parameterCount) = Self.numbered(sql)
    }

    func run(_ values: [SQLValue], _ body: (Row) throws(DatabaseError) -> Void) throws(DatabaseError) {
        precondition(result == nil, "a statement was started while it was running: \(sql)")
        precondition(values.count == parameterCount, "number of values differs from number of parameters: \(sql)")
        let rows = try connection.run(self, values)
        result = rows
        defer { result = nil }
        for number in 0..<rows.rowCount {
            row = number
            try body(Row(statement: self))
        }
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
