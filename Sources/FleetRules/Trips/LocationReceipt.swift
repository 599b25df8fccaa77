/// The answer to positions.
package struct LocationReceipt: Equatable, Sendable {
    /// The number of positions that were kept.
    package var accepted = 0
    /// The number of positions that were not kept, because they are too old, or the driver has no trip.
    package var ignored = 0
    /// The references of the driver's trips; the one followed last is the last.
    package var sharing: [String] = []

    package init(accepted: Int = 0, ignored: Int = 0, sharing: [String] = []) {
        self.accepted = accepted
        self.ignored = ignored
        self.sharing = sharing
    }
}
