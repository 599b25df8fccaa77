import CPostgres
import Glibc
import Primitives
import Threads

/// A session with a PostgreSQL server: from the connection to its loss.
///
/// libpq's blocking calls wait for a silent server for ever. So this sends and receives with its asynchronous ones, and
/// waits with poll(2) until a deadline. After the deadline the session counts as lost, because
/// the server may still execute what was sent.
final class PostgresSession {
    /// Milliseconds to wait for a response.
    var responseMax = Timing.postgresResponseMax

    let handle: OpaquePointer
    /// Whether the connection is closed, or the server did not answer in time.
    var isLost = false
    /// The numbers of the texts that the server has prepared (``PostgresText``).
    var prepared: Set<Int> = []
    private var isClosed = false
    /// Called once a second while the server does not answer, and after each response.
    let onWait: () -> Void

    /// Connects and authenticates. The name of a host is resolved first, which may take as long as the system's resolver
    /// takes.
    /// - Parameter onWait: called once a second while the server does not answer, and after each response.
    init(_ uri: String, writing: Bool = true, onWait: @escaping () -> Void = {}) throws(DatabaseError) {
        self.onWait = onWait
        guard PostgresURI(uri) != nil, let handle = Self.start(uri, writing: writing) else {
            throw DatabaseError(
                .temporary, code: "PostgreSQL error", message: "no connection URI, or out of memory", doing: "connecting")
        }
        // An instance whose initializer throws is released, and closes the connection.
        self.handle = handle
        try finishConnecting(deadline: Clock.monotonicMilliseconds() + Timing.postgresConnectMax)
        PQsetnonblocking(handle, 1)
        // The server's notices would go to the standard error output.
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
    }

    deinit { close() }

    /// Closes the connection, so that the server ends the session once it has done what it does.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        isLost = true
        PQfinish(handle)
    }

    /// Whether a transaction is open, also one that has failed.
    /// The server's version: 150018 is 15.18.
    var serverVersion: Int { isClosed ? 0 : Int(PQserverVersion(handle)) }

    var isInTransaction: Bool { !isClosed && PQtransactionStatus(handle) != PQTRANS_IDLE }

    /// Whether the server has answered all that was sent to it.
    var hasAnswered: Bool {
        !isClosed && [PQTRANS_IDLE, PQTRANS_INTRANS, PQTRANS_INERROR].contains(PQtransactionStatus(handle))
    }

    /// Notices without waiting whether the server has ended the session since its last response.
    func checkConnection() {
        guard !isLost else { return }
        var socket = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        // What the server says, and the end after it, may need two calls.
        for _ in 0..<3 where !isLost && poll(&socket, 1, 0) != 0 {
            if PQconsumeInput(handle) == 0 { isLost = true } else { _ = PQisBusy(handle) }
        }
    }

    /// Begins to connect. What the URI says has priority over the parameters before it.
    private static func start(_ uri: String, writing: Bool) -> OpaquePointer? {
        let parameters = [
            // A standby has neither the writer's locks nor its last commits.
            ("target_session_attrs", writing ? "read-write" : "any"),
            ("fallback_application_name", "fleetwire"), ("gssencmode", "disable"), ("keepalives_idle", "5"),
            ("keepalives_interval", "2"), ("keepalives_count", "3"), ("tcp_user_timeout", "10000"), ("dbname", uri),
            ("client_encoding", "UTF8"),
        ]
        var keywords: [UnsafePointer<CChar>?] = []
        var values: [UnsafePointer<CChar>?] = []
        for (keyword, value) in parameters {
            keywords.append(UnsafePointer(strdup(keyword)))
            values.append(UnsafePointer(strdup(value)))
        }
        defer { for text in keywords + values { free(UnsafeMutablePointer(mutating: text)) } }
        return PQconnectStartParams(keywords + [nil], values + [nil], 1)
    }

    private func finishConnecting(deadline: Int64) throws(DatabaseError) {
        guard PQstatus(handle) != CONNECTION_BAD else { throw failure(doing: "connecting") }
        var next = PGRES_POLLING_WRITING
        while next != PGRES_POLLING_OK {
            guard next != PGRES_POLLING_FAILED else { throw failure(doing: "connecting") }
            let events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT
            try wait(for: Int16(events), deadline, doing: "connecting")
            next = PQconnectPoll(handle)
        }
    }

    // MARK: Statements

    /// Runs one or more statements without parameters.
    /// - Returns: the result of the last one, with its columns as text.
    @discardableResult
    func query(_ sql: String) throws(DatabaseError) -> PostgresResult {
        try send(doing: sql) { PQsendQuery(handle, sql) }
        return try receive(doing: sql)
    }

    func send(doing: String, _ body: () -> Int32) throws(DatabaseError) {
        guard !isLost else {
            throw DatabaseError(.unreachable, code: "PostgreSQL error", message: "the session was lost", doing: doing)
        }
        if body() == 0 { throw failure(doing: doing) }
    }

    /// Waits for the results of what was sent.
    /// - Throws: the first error.
    private func receive(doing: String) throws(DatabaseError) -> PostgresResult {
        let deadline = Clock.monotonicMilliseconds() + responseMax
        var last: PostgresResult?
        var error: DatabaseError?
        while true {
            try waitForResult(deadline, doing: doing)
            guard let result = PQgetResult(handle) else { break }
            let next = PostgresResult(result)
            error = error ?? next.error(doing: doing)
            last = next
        }
        onWait()
        if PQstatus(handle) == CONNECTION_BAD { isLost = true }
        if let error {
            if Self.endsSession(error) { isLost = true }
            throw error
        }
        guard let last else { throw failure(doing: doing) }
        return last
    }

    /// Whether another session may work although this one does not: the server has become a standby, or a pooler has
    /// exchanged the server's side.
    static func endsSession(_ error: DatabaseError) -> Bool {
        ["25006", "26000", "42P05"].contains { error.code.hasSuffix($0) }
    }

    func waitForResult(_ deadline: Int64, doing: String) throws(DatabaseError) {
        while true {
            let unsent = PQflush(handle)
            guard unsent >= 0 else { throw failure(doing: doing) }
            if PQisBusy(handle) == 0 { return }
            try wait(for: Int16(unsent > 0 ? POLLIN | POLLOUT : POLLIN), deadline, doing: doing)
            guard PQconsumeInput(handle) == 1 else { throw failure(doing: doing) }
        }
    }

    /// Waits until the socket is ready.
    private func wait(for events: Int16, _ deadline: Int64, doing: String) throws(DatabaseError) {
        var socket = pollfd(fd: PQsocket(handle), events: events, revents: 0)
        while true {
            let left = deadline - Clock.monotonicMilliseconds()
            if left > 0 {
                if poll(&socket, 1, Int32(min(left, 1_000))) > 0 { return }
                onWait()
                continue
            }
            isLost = true
            throw DatabaseError(
                .unreachable, code: "PostgreSQL error", message: "the server does not answer", doing: doing)
        }
    }

    /// The error of a connection that does not work any more.
    func failure(doing: String) -> DatabaseError {
        isLost = true
        let message = PostgresResult.oneLine(PQerrorMessage(handle))
        return DatabaseError(.unreachable, code: "PostgreSQL error", message: message, doing: doing)
    }
}

/// The values of a statement's parameters, as libpq takes them: numbers and texts as text with a terminator, blobs as they
/// are.
struct PostgresParameters {
    private var bytes: [UInt8] = []
    /// Where each value begins; nil for NULL.
    private var offsets: [Int?] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []

    init(_ values: [SQLValue]) {
        for value in values {
            switch value {
            case .null: append(nil as [UInt8]?, format: 0)
            case .integer(let number): append(String(number).utf8, format: 0)
            case .string(let text): append(Self.storable(text).utf8, format: 0)
            case .utf8(let text): append(text, format: 0)
            case .blob(let blob): append(blob, format: 1)
            }
        }
    }

    /// PostgreSQL rejects U+0000 in text. In the keys and names of requests it has no meaning.
    private static func storable(_ text: String) -> String {
        text.utf8.contains(0) ? text.replacing("\u{0}", with: "\u{FFFD}") : text
    }

    private mutating func append(_ value: (some Collection<UInt8>)?, format: Int32) {
        offsets.append(value == nil ? nil : bytes.count)
        lengths.append(Int32(value?.count ?? 0))
        formats.append(format)
        if let value { bytes += value }
        bytes.append(0)
    }

    func withPointers<Result>(
        _ body: (_ values: [UnsafePointer<CChar>?], _ lengths: [Int32], _ formats: [Int32]) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { buffer in
            let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            return body(offsets.map { offset in offset.flatMap { start?.advanced(by: $0) } }, lengths, formats)
        }
    }
}
