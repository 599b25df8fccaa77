/// The answer to positions.
package struct LocationReceipt: Equatable, Sendable {
    /// The number of positions that were kept.
    package var accepted = 0
    /// The number of positions that were not kept: too old, or none at all, or one of those below, or the driver has no
    /// trip.
    package var ignored = 0
    /// Of the ignored ones, those that repeat the newest position.
    package var copies = 0
    /// Of the ignored ones, those that were held back, because they are too far away.
    package var jumps = 0
    /// Of the ignored ones, those whose phone says that they are none.
    package var invalid = 0
    /// The references of the driver's trips; the one followed last is the last.
    package var sharing: [String] = []

    package init(
        accepted: Int = 0, ignored: Int = 0, copies: Int = 0, jumps: Int = 0, invalid: Int = 0, sharing: [String] = []
    ) {
        self.accepted = accepted
        self.ignored = ignored
        self.copies = copies
        self.jumps = jumps
        self.invalid = invalid
        self.sharing = sharing
    }
}
