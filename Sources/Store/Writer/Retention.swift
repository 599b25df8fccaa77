import FleetRules

/// When the next old rows go: a few at a time, so that no errand waits long, and again and again until none is left.
struct Retention {
    private static let rowsMax = 500
    /// Between two rounds that found nothing.
    private static let pause: Int64 = 60_000
    private static let pauseAfterFailure: Int64 = 5_000

    private let lifetime: Int64
    private var kinds: ArraySlice<CommandExecutor.RetentionKind> = []
    private var restsUntil = Int64.min
    private var isClean = true
    /// Devices that were among what the steps forgot.
    private(set) var removed: [RemovedDevice] = []

    init(days: Int) { lifetime = Int64(days) * 86_400_000 }

    /// Whether a step may find something. A clock set back must not keep it away for long.
    func isDue(_ now: Int64) -> Bool { now >= restsUntil || restsUntil - now > Self.pause }

    /// Forgets some rows of one kind; answers how many.
    mutating func step(_ ledger: CommandExecutor, _ now: Int64) throws(DatabaseError) -> Int {
        if kinds.isEmpty {
            kinds = CommandExecutor.RetentionKind.allCases[...]
            isClean = true
        }
        guard let kind = kinds.first else { return 0 }
        let count: Int
        var gone: [RemovedDevice] = []
        do throws(DatabaseError) {
            let lifetime = lifetime
            count = try ledger.transaction { () throws(DatabaseError) in
                try ledger.deleteExpired(kind, now: now, lifetime: lifetime, most: Self.rowsMax, &gone)
            }
        } catch {
            // The other kinds have their turn first.
            kinds.removeFirst()
            isClean = false
            restsUntil = now + Self.pauseAfterFailure
            throw error
        }
        removed += gone
        if count > 0 { isClean = false }
        if count < Self.rowsMax { kinds.removeFirst() }
        if kinds.isEmpty, isClean { restsUntil = now + Self.pause }
        return count
    }

    mutating func drainRemoved() -> [RemovedDevice] {
        defer { removed = [] }
        return removed
    }
}
