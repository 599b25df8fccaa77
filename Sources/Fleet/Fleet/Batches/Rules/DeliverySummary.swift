import JSON

/// A batch that ended after its pickup, as a summary counts it.
package struct CompletedBatch: Equatable, Sendable {
    /// Milliseconds since 1970.
    package let completedAt: Int64
    package let delivered: Int
    package let failed: Int
    /// What the driver earned. Nil: not known, counts as 0.
    package let earnings: JSONNumber?

    package init(completedAt: Int64, delivered: Int, failed: Int, earnings: JSONNumber?) {
        self.completedAt = completedAt
        self.delivered = delivered
        self.failed = failed
        self.earnings = earnings
    }

    /// Nil if the batch is not over, or is cancelled.
    package init?(_ batch: Batch) {
        guard batch.status.isCompletion, let completedAt = batch.completedAt else { return nil }
        let counts = batch.counts
        self.init(
            completedAt: completedAt, delivered: counts.delivered, failed: counts.failed, earnings: batch.estimatedEarnings)
    }
}

/// The time that a summary covers, in days of the driver's time zone.
package enum SummaryRange: String, CaseIterable, Sendable {
    case today
    /// Since Monday.
    case week
    case month
    case all
}

/// What a driver has delivered and earned in a time.
package struct DeliverySummary: Equatable, Sendable {
    package let batches: Int
    package let delivered: Int
    package let failed: Int
    /// The sum of what the batches earned.
    package let base: JSONNumber
    /// 0 until admins can set a batch's earnings.
    package let bonus: JSONNumber

    /// - Parameters:
    ///   - batches: a driver's batches, in any order.
    ///   - time: when the batches that count were completed, in milliseconds since 1970. Nil: at any time.
    package init(_ batches: some Sequence<CompletedBatch>, in time: Range<Int64>?) {
        let counted = batches.filter { time?.contains($0.completedAt) ?? true }
        self.batches = counted.count
        delivered = counted.reduce(0) { $0 + $1.delivered }
        failed = counted.reduce(0) { $0 + $1.failed }
        base = counted.reduce(Money.zero) { $0 + ($1.earnings.flatMap { Money($0) } ?? .zero) }.number
        bonus = Money.zero.number
    }

    /// Delivered and failed orders.
    package var deliveries: Int { delivered + failed }

    /// ``base`` and ``bonus``.
    package var total: JSONNumber { base }

    /// Delivered orders in per cent of all deliveries, rounded to the nearest. Nil without deliveries.
    package var successRate: Int? { deliveries == 0 ? nil : (200 * delivered + deliveries) / (2 * deliveries) }
}
