/// Reads whose results come before they are asked for (``Database/prefetch(_:_:)``). They hold until one of their tables is
/// changed.
struct Prefetches {
    private struct Prefetch {
        let request: PostgresRequest
        /// The number of the statement (``StatementQueue/count``).
        let number: Int64
        var result: PostgresResult?
    }

    private var all: [Prefetch] = []
    /// The oldest are forgotten: a command may have been rejected before it has read what it was expected to.
    private static let most = 64

    mutating func append(_ request: PostgresRequest, number: Int64) {
        if all.count == Self.most { all.removeFirst() }
        all.append(Prefetch(request: request, number: number))
    }

    func contains(_ request: PostgresRequest) -> Bool { index(of: request) != nil }

    /// Whether the result has not come.
    func isWaiting(_ request: PostgresRequest) -> Bool { index(of: request).map { all[$0].result == nil } ?? false }

    /// Records the results of the statements up to and including the number `last`.
    mutating func record(_ results: [PostgresResult], last: Int64) {
        for index in all.indices where all[index].result == nil {
            let position = results.count - 1 - Int(last - all[index].number)
            if results.indices.contains(position) { all[index].result = results[position] }
        }
    }

    /// Returns the result of a read, once.
    mutating func take(_ request: PostgresRequest) -> PostgresResult? {
        index(of: request).flatMap { all.remove(at: $0).result }
    }

    private func index(of request: PostgresRequest) -> Int? { all.firstIndex { $0.request.isSame(as: request) } }

    mutating func remove(readingFrom table: Substring) { all.removeAll { $0.request.text.reads(table) } }

    mutating func removeAll() { if !all.isEmpty { all.removeAll(keepingCapacity: true) } }
}

extension PostgresRequest {
    fileprivate func isSame(as other: PostgresRequest) -> Bool {
        text === other.text && zip(values, other.values).allSatisfy { $0.isSame(as: $1) }
    }
}

extension SQLValue {
    /// Whether the server gets the same. Strings are compared by bytes.
    fileprivate func isSame(as other: SQLValue) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.integer(let one), .integer(let two)): one == two
        case (.string(let one), .string(let two)): one.hasSameBytes(as: two)
        case (.utf8(let one), .utf8(let two)), (.blob(let one), .blob(let two)): one == two
        default: false
        }
    }
}
