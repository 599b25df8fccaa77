/// Notifications of a channel that were written to a connection of a device, and perhaps confirmed by it: those with
/// the sequences after ``after``, up to and including ``upTo``.
///
/// If both are equal, there are none: once confirmed, such a receipt only moves the device's cursor, past a gap.
package struct Receipt: Equatable, Sendable {
    package let key: ReceiptKey
    package let after: Int64
    package let upTo: Int64
    /// Milliseconds since 1970.
    package let writtenAt: Int64
    /// Milliseconds since 1970; nil if they are not confirmed yet.
    package let confirmedAt: Int64?

    package init(key: ReceiptKey, after: Int64, upTo: Int64, writtenAt: Int64, confirmedAt: Int64?) {
        self.key = key
        self.after = after
        self.upTo = upTo
        self.writtenAt = writtenAt
        self.confirmedAt = confirmedAt
    }
}
