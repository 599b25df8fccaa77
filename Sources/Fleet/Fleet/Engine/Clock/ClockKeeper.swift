import Primitives

/// The store's trusted clock. Saves it, so that a restart does not hide a jump, and applies an operator's confirmation
/// (``ClockConfirmation``).
struct ClockKeeper {
    /// The name in ``StoreEvent/backgroundTaskFailed(_:kind:)``.
    static let name = "clock"

    private let table: ClockTable
    private var clock: TrustedClock
    /// Whether a jump found in the database is still to be reported.
    private var hasUnreportedJump: Bool
    /// Whether the clock's last change is saved.
    private var isSaved = false
    /// Whether a confirmation was applied that is still in the database.
    private var hasAppliedConfirmation = false
    /// The last save, and the last look for a confirmation; as ``ClockReading/uptime``.
    private var savedAt: Int64 = 0
    private var confirmationReadAt = Int64.min

    /// Loads the clock. The first time, the wall clock is trusted.
    init(_ database: Database, at reading: ClockReading) throws(DatabaseError) {
        table = ClockTable(database: database)
        let suspect = try table.reading(.suspect)
        clock = TrustedClock(anchor: try table.reading(.trusted) ?? reading, suspect: suspect)
        hasUnreportedJump = suspect != nil
    }

    /// Whether decisions that cannot be undone may be made by age.
    var isTrusted: Bool { clock.isTrusted }

    /// Milliseconds by which the wall clock was ahead of the trusted time at the last reading.
    var lead: Int64 { clock.lead }

    /// Handles a reading of the clocks. Reports a jump again after each restart.
    mutating func observe(_ reading: ClockReading) -> TrustedClock.Change? {
        let change = clock.observe(reading)
        if change != nil { isSaved = false }
        defer { hasUnreportedJump = false }
        return change == nil && hasUnreportedJump ? .jumped(ahead: clock.lead) : change
    }

    /// Looks for a confirmation, while the wall clock is not trusted and if the last look was some time ago.
    mutating func applyConfirmation(at reading: ClockReading) throws(DatabaseError) -> TrustedClock.Change? {
        guard !clock.isTrusted, reading.uptime >= confirmationReadAt + Timing.clockConfirmationInterval else { return nil }
        confirmationReadAt = reading.uptime
        guard let confirmed = try table.reading(.confirmed) else { return nil }
        guard confirmed.wall > clock.anchor.wall else {
            // It was given when it was not needed, perhaps long ago: it says nothing about this jump.
            try table.remove(.confirmed)
            return nil
        }
        clock.confirm(confirmed)
        (isSaved, hasAppliedConfirmation) = (false, true)
        // The wall clock may have jumped again since. Then the confirmation changes nothing.
        return clock.observe(reading) ?? .trusted(.confirmed)
    }

    /// Saves the clock if it has changed or the last save was some time ago. Call it between transactions.
    mutating func save(at reading: ClockReading) throws(DatabaseError) {
        guard !isSaved || reading.uptime >= savedAt + Timing.clockSaveInterval else { return }
        try save()
        (isSaved, hasAppliedConfirmation) = (true, false)
        savedAt = reading.uptime
    }

    private func save() throws(DatabaseError) {
        try table.database.transaction { () throws(DatabaseError) in
            try table.store(clock.anchor, as: .trusted)
            if let suspect = clock.suspect { try table.store(suspect, as: .suspect) } else { try table.remove(.suspect) }
            // Only a confirmation that was applied: another may concern a jump that no reading has shown yet.
            if hasAppliedConfirmation { try table.remove(.confirmed) }
        }
    }
}
