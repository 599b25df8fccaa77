/// What became of the notifications of the last hour that are for one person or for all drivers.
package struct ReceiptFigures: Equatable, Sendable {
    package var created = 0
    package var written = 0
    package var confirmed = 0
    package var acknowledged = 0
    /// A push provider has accepted a push of them.
    package var pushed = 0
    /// They are older than `delivery.confirm_seconds`, have not expired, and are neither confirmed nor acknowledged.
    package var unconfirmed = 0
    /// From the creation to the first confirmation, in milliseconds; nil if none is confirmed.
    package var median: Int64?
    package var percentile99: Int64?

    package init() {}

    /// Sets the percentiles.
    /// - Parameter times: from creation to first confirmation, in milliseconds, in any order.
    package mutating func setPercentiles(of times: [Int64]) {
        guard !times.isEmpty else { return }
        let sorted = times.sorted()
        // The nearest rank: the least time that so many percent of all times do not exceed.
        func percentile(_ percent: Int) -> Int64 { sorted[(sorted.count * percent + 99) / 100 - 1] }
        (median, percentile99) = (percentile(50), percentile(99))
    }
}
