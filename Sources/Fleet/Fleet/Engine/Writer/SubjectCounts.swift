/// The number of rows of one kind that each of the recently active users has, so that they are not counted in the
/// database again for each command.
///
/// A count is exact as long as every transaction that stored or deleted such rows was either committed and recorded
/// here, or followed by ``removeAll()``.
struct SubjectCounts {
    /// The most users; at most some 2 MB.
    private static let usersMax = 10_000

    private var counts: [String: Int] = [:]

    /// The count of a user.
    /// - Parameter read: counts the user's rows in the database.
    mutating func count(
        of subject: String, _ read: () throws(DatabaseError) -> Int
    ) throws(DatabaseError) -> Int {
        if let count = counts[subject] { return count }
        let count = try read()
        if counts.count >= Self.usersMax { removeAll() }
        counts[subject] = count
        return count
    }

    /// Records that a row of a user was stored.
    mutating func addOne(to subject: String) { counts[subject]? += 1 }

    /// Forgets the count of a user.
    mutating func remove(_ subject: String) { counts[subject] = nil }

    /// Forgets all counts. Call it when rows were deleted, and when a transaction was rolled back.
    mutating func removeAll() { counts.removeAll(keepingCapacity: true) }
}
