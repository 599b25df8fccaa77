import CPostgres
import Glibc

/// The rows that a statement has returned, with binary columns.
final class PostgresResult {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { PQclear(handle) }

    var rowCount: Int32 { PQntuples(handle) }

    var columnCount: Int32 { PQnfields(handle) }

    /// The number of rows that an INSERT, UPDATE or DELETE has changed. 0 after other statements.
    var changedRows: Int {
        guard let command = PQcmdStatus(handle), command.pointee != CChar(UInt8(ascii: "S")) else { return 0 }
        return PQcmdTuples(handle).map { atol($0) } ?? 0
    }

    /// Whether the statement was not run, because an earlier one of the pipeline has failed.
    var isSkipped: Bool { PQresultStatus(handle) == PGRES_PIPELINE_ABORTED }

    /// The command that has run: `COMMIT`. A COMMIT after an error is a `ROLLBACK`.
    var command: String { String(cString: PQcmdStatus(handle)) }

    func isNull(_ row: Int32, _ column: Int32) -> Bool { PQgetisnull(handle, row, column) == 1 }

    /// A number: BIGINT, INTEGER or BOOLEAN. 0 for NULL.
    func integer(_ row: Int32, _ column: Int32) -> Int64 {
        let bytes = bytes(row, column)
        var bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        if bytes.count == 4 { bits = UInt64(bitPattern: Int64(Int32(truncatingIfNeeded: bits))) }
        return Int64(bitPattern: bits)
    }

    /// The bytes of a TEXT or BYTEA. Valid while the result exists.
    func bytes(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: PQgetvalue(handle, row, column), count: Int(PQgetlength(handle, row, column)))
    }

    func string(_ row: Int32, _ column: Int32) -> String { String(decoding: bytes(row, column), as: UTF8.self) }

    /// The error that the server has reported; nil if the statement has succeeded.
    func error(doing: String) -> DatabaseError? {
        switch PQresultStatus(handle) {
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE, PGRES_NONFATAL_ERROR:
            return DatabaseError(sqlState: field("C"), message: field("M") ?? message, doing: doing)
        default: return nil
        }
    }

    /// What libpq says itself: errors of the connection have no fields.
    private var message: String {
        Self.oneLine(PQresultErrorMessage(handle))
    }

    /// A text of libpq in one line.
    static func oneLine(_ text: UnsafePointer<CChar>?) -> String {
        text.map { String(cString: $0).split { $0.isNewline || $0 == "\t" }.joined(separator: "; ") } ?? ""
    }

    /// A field of the error by its code in the protocol: `C` is the SQLSTATE, `M` the message. The field `D`, details, is not
    /// read, because it contains values.
    private func field(_ code: Unicode.Scalar) -> String? {
        PQresultErrorField(handle, Int32(code.value)).map { String(cString: $0) }
    }
}

extension DatabaseError {
    /// - Parameter sqlState: PostgreSQL's error code (its documentation's appendix A); nil if the connection has failed.
    init(sqlState: String?, message: String, doing: String) {
        self.init(
            sqlState.map(Self.kind) ?? .unreachable, code: "PostgreSQL error \(sqlState ?? "of the connection")",
            message: message, doing: doing)
    }

    private static func kind(_ sqlState: String) -> Kind {
        switch sqlState {
        // A lock is not available in `lock_timeout`.
        case "55P03": return .busy
        case "53100": return .full
        // A server that became read-only is a standby: another one is to be found at the address.
        case "25006": return .unreachable
        case "42501": return .forbidden
        // data_corrupted, index_corrupted. Other internal errors have many causes.
        case "XX001", "XX002": return .damaged
        // Statement timeout; serialization failure; deadlock.
        case "57014", "40001", "40P01", "58030": return .temporary
        default: break
        }
        switch sqlState.prefix(2) {
        case "08", "57": return .unreachable
        case "28": return .forbidden
        case "25", "53": return .temporary
        default: return .other
        }
    }
}
