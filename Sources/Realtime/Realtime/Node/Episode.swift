import Primitives

/// A condition that comes and goes at short intervals, such as accepting that pauses and resumes at the descriptor
/// limit. It is logged once per episode. An episode ends when the condition has not been seen for
/// ``Timing/episodeQuiet``.
struct Episode {
    /// The second at which the condition was last seen.
    private var lastSeen: Int?

    /// Records that the condition was seen.
    /// - Returns: whether an episode begins with it.
    mutating func begins(at second: Int) -> Bool {
        defer { lastSeen = second }
        return !isOpen(at: second)
    }

    /// Prolongs an episode whose condition still holds. Does not begin one.
    mutating func continues(at second: Int) {
        if isOpen(at: second) { lastSeen = second }
    }

    private func isOpen(at second: Int) -> Bool {
        lastSeen.map { second - $0 <= Timing.wholeSeconds(Timing.episodeQuiet) } ?? false
    }
}
