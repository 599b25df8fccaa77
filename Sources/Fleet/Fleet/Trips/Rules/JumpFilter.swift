/// Holds back positions to which no driver could have come from the newest one, until a second position agrees.
struct JumpFilter {
    private var held: Position?

    /// Judges a position that is not older than the newest.
    /// - Returns: the positions to keep, oldest first; none if the position is held back.
    mutating func take(_ position: Position, after newest: Position?, _ rules: TripRules) -> [Position] {
        guard let newest, isJump(from: newest, to: position, rules) else {
            held = nil
            return [position]
        }
        guard let held, !isJump(from: held, to: position, rules) else {
            held = position
            return []
        }
        self.held = nil
        return held.recordedAt <= position.recordedAt ? [held, position] : [position, held]
    }

    /// Less than a second apart counts as a second, and an unknown accuracy as exact.
    private func isJump(from start: Position, to end: Position, _ rules: TripRules) -> Bool {
        guard rules.jumpKmh > 0 else { return false }
        let metres = start.metres(to: end) - (start.accuracy ?? 0) - (end.accuracy ?? 0)
        let time = max(abs(Double(end.recordedAt) - Double(start.recordedAt)), 1_000)
        return metres / time * 3_600 > rules.jumpKmh
    }
}
