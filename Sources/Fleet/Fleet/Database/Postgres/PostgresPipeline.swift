import CPostgres
import Threads

/// The text of a statement with parameters, which each session prepares when it first runs it.
final class PostgresText: Sendable {
    let sql: String
    /// The text with `$1`, `$2`, … for its parameters.
    let numberedSQL: String
    let parameterCount: Int
    /// Distinguishes the texts of a connection.
    let number: Int
    /// The name under which sessions prepare it.
    let name: String
    let isReading: Bool
    /// The table that an INSERT, UPDATE or DELETE changes.
    let changedTable: Substring?
    /// The names in a SELECT: of tables, columns and others.
    private let names: Set<Substring>
    /// Whether it changes at least one row, unless it fails: an INSERT of values that leaves out no row.
    let alwaysChanges: Bool

    init(_ sql: String, number: Int, name: String? = nil) {
        self.sql = sql
        self.number = number
        self.name = name ?? "s\(number)"
        (numberedSQL, parameterCount) = PostgresStatement.numbered(SQLDialect.postgres.statement(sql))
        isReading = sql.hasPrefix("SELECT")
        let words = sql.split { !$0.isLetter && $0 != "_" }
        names = isReading ? Set(words) : []
        changedTable = words.first == "UPDATE" ? words.dropFirst().first : words.dropFirst(2).first
        alwaysChanges = sql.hasPrefix("INSERT") && !["SELECT", "WHERE", "DO NOTHING"].contains { sql.contains($0) }
    }

    /// Whether the change of a table may alter what this SELECT returns. There are no triggers and no foreign keys.
    func reads(_ table: Substring) -> Bool { names.contains(table) }
}

/// A statement to run, with the values of its parameters.
struct PostgresRequest {
    let text: PostgresText
    let values: [SQLValue]
    /// Called with the statement's result.
    var onResult: ((PostgresResult) -> Void)?
}

/// Several statements in one round trip (libpq's "pipeline mode").
///
/// All of them are put into libpq's buffer, then sent while results are received: neither side waits for the other to
/// receive (``waitForResult(_:doing:)``). After an error the server skips the rest.
extension PostgresSession {
    /// Asks the server for the results so far after so many statements, so that the deadline is one for each such part.
    private static let statementsPerFlush = 32

    /// Runs statements.
    /// - Returns: the result of each.
    /// - Throws: the first error.
    func run(_ requests: [PostgresRequest]) throws(DatabaseError) -> [PostgresResult] {
        try send(doing: requests.last?.text.sql ?? "") { PQenterPipelineMode(handle) }
        var sent: [Sent] = []
        sent.reserveCapacity(requests.count)
        for request in requests {
            if prepared.insert(request.text.number).inserted { try prepare(request.text, &sent) }
            try send(request, &sent)
            if sent.count.isMultiple(of: Self.statementsPerFlush) {
                try send(doing: request.text.sql) { PQsendFlushRequest(handle) }
            }
        }
        try send(doing: requests.last?.text.sql ?? "") { PQpipelineSync(handle) }
        return try receiveResults(of: sent)
    }

    /// What the server executes: a statement, or its preparation.
    private struct Sent {
        let text: PostgresText
        let isPreparation: Bool
    }

    private func prepare(_ text: PostgresText, _ sent: inout [Sent]) throws(DatabaseError) {
        try send(doing: text.sql) { PQsendPrepare(handle, text.name, text.numberedSQL, 0, nil) }
        sent.append(Sent(text: text, isPreparation: true))
    }

    private func send(_ request: PostgresRequest, _ sent: inout [Sent]) throws(DatabaseError) {
        let parameters = PostgresParameters(request.values)
        try send(doing: request.text.sql) {
            parameters.withPointers { pointers, lengths, formats in
                PQsendQueryPrepared(
                    handle, request.text.name, Int32(request.values.count), pointers, lengths, formats, 1)
            }
        }
        sent.append(Sent(text: request.text, isPreparation: false))
    }

    private func receiveResults(of sent: [Sent]) throws(DatabaseError) -> [PostgresResult] {
        var results: [PostgresResult] = []
        results.reserveCapacity(sent.count)
        var failure: DatabaseError?
        do throws(DatabaseError) {
            for each in sent {
                let result = try result(doing: each.text.sql)
                let error = result.error(doing: each.text.sql)
                failure = failure ?? error
                if each.isPreparation {
                    if error != nil || result.isSkipped { prepared.remove(each.text.number) }
                } else {
                    results.append(result)
                }
                try endOfResults(doing: each.text.sql)
            }
            // The end of the pipeline: the server is ready for the next one, also after an error.
            _ = try result(doing: sent.last?.text.sql ?? "")
            try send(doing: "ending a pipeline") { PQexitPipelineMode(handle) }
        } catch {
            failure = failure ?? error
        }
        onWait()
        if PQstatus(handle) == CONNECTION_BAD { isLost = true }
        guard let failure else { return results }
        if Self.endsSession(failure) { isLost = true }
        throw failure
    }

    private func result(doing sql: String) throws(DatabaseError) -> PostgresResult {
        try waitForResult(Clock.monotonicMilliseconds() + responseMax, doing: sql)
        guard let result = PQgetResult(handle) else { throw failure(doing: sql) }
        return PostgresResult(result)
    }

    /// libpq returns nil after the result of each statement.
    private func endOfResults(doing sql: String) throws(DatabaseError) {
        try waitForResult(Clock.monotonicMilliseconds() + responseMax, doing: sql)
        if let unexpected = PQgetResult(handle) {
            PQclear(unexpected)
            throw failure(doing: sql)
        }
    }
}
