/// The number of stray telemetry steps of the users who reported some recently, so that they are not counted in the
/// database again for each event.
///
/// A count is exact as long as every transaction that stored or deleted stray steps was either committed and recorded
/// here, or followed by ``removeAll()``.
struct StrayCounts {
    /// The most users; at most some 2 MB.
    private static let usersMax = 10_000

    private var counts: [String: Int] = [:]

    /// The count of a user.
    /// - Parameter read: counts the user's steps in the database.
    mutating func count(
        of subject: String, _ read: () throws(DatabaseError) -> Int
    ) throws(DatabaseError) -> Int {
        if let count = counts[subject] { return count }
        let count = try read()
        if counts.count >= Self.usersMax { removeAll() }
        counts[subject] = count
        return count
    }

    /// Records that a stray step of a user was stored.
    mutating func add(to subject: String) { counts[subject]? += 1 }

    /// Forgets all counts. Call it when steps were deleted, and when a transaction was rolled back.
    mutating func removeAll() { counts.removeAll(keepingCapacity: true) }
}
