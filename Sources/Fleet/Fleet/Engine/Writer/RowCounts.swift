/// How many rows the writer's transactions have written: those with requests, and the slices of tasks.
package struct RowCounts: Equatable, Sendable {
    /// The inclusive upper bounds of ``buckets``. One more bucket counts larger transactions.
    package static let bounds = [10, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000]

    /// Transactions per bucket; not cumulative. Transactions that have written nothing do not count.
    package private(set) var buckets = [Int](repeating: 0, count: bounds.count + 1)
    package private(set) var sum = 0
    /// The rows of the last transaction.
    private(set) var last = 0

    package init() {}

    mutating func add(_ rows: Int) {
        last = rows
        guard rows > 0 else { return }
        sum += rows
        buckets[Self.bounds.firstIndex { rows <= $0 } ?? Self.bounds.count] += 1
    }
}
