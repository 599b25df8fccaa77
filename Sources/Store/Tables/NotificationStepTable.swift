/// Something that became of a notification, and by whose word.
package struct NotificationStep: Equatable, Sendable {
    package let notificationID: String
    /// `received`, `action_accept`…
    package let step: String
    /// Who says so, ``Identity/key``: not always the one it was sent to.
    package let subject: String
    /// When we heard of it: milliseconds since 1970.
    package let at: Int64
    /// When it happened, by the clock of whoever says so, as sent.
    package let toldAt: String?
    /// Whatever else was said, as a JSON object.
    package let detail: [UInt8]?
}

/// The steps of the notifications' lives.
struct NotificationStepTable {
    private let insert: Statement
    private let select: Statement
    private let countOrphans: Statement
    private let clearDetails: Statement
    private let deleteOld: Statement

    init(_ database: Database) throws(DatabaseError) {
        insert = try Statement(
            """
            INSERT INTO notification_steps (notification_id, step, subject, at, told_at, detail, stray) \
            VALUES (?, ?, ?, ?, ?, ?, ?) \
            ON CONFLICT (notification_id, step, subject) DO NOTHING
            """, on: database)
        // What was heard in one millisecond stands in the order in which it can have happened.
        select = try Statement(
            """
            SELECT notification_id, step, subject, at, told_at, detail FROM notification_steps WHERE notification_id = ? \
            ORDER BY at, CASE step WHEN 'received' THEN 0 WHEN 'action_view_now' THEN 1 ELSE 2 END, step, subject
            """, on: database)
        countOrphans = try Statement(Self.countOrphans, on: database)
        clearDetails = try Statement(
            "UPDATE notification_steps SET detail = NULL WHERE subject = ? AND detail IS NOT NULL", on: database)
        deleteOld = try Statement(
            """
            DELETE FROM notification_steps WHERE (notification_id, step, subject) IN (SELECT notification_id, step, subject \
            FROM notification_steps WHERE at < ? ORDER BY at LIMIT ?)
            """, on: database)
    }

    static let countOrphans = "SELECT COUNT(*) FROM notification_steps WHERE subject = ? AND stray = 1"

    /// The first word of each subject on each step holds; false when it is not the first.
    /// - Parameter isStray: whether it speaks of a notification that is not in the log.
    func record(_ step: NotificationStep, isStray: Bool) throws(DatabaseError) -> Bool {
        try insert.change(
            .string(step.notificationID), .string(step.step), .string(step.subject), .integer(step.at),
            .string(step.toldAt), .utf8(step.detail), .integer(isStray ? 1 : 0)) > 0
    }

    /// How much somebody has said of notifications that are not in the log.
    func orphans(of subject: String) throws(DatabaseError) -> Int {
        Int(try countOrphans.first(.string(subject)) { row throws(DatabaseError) in row.integer(0) } ?? 0)
    }

    /// Forgets what somebody said beside the steps themselves; answers of how many.
    func clearDetails(of subject: String) throws(DatabaseError) -> Int { try clearDetails.change(.string(subject)) }

    /// Oldest first.
    func steps(of id: String) throws(DatabaseError) -> [NotificationStep] {
        try select.all(.string(id)) { row throws(DatabaseError) in
            NotificationStep(
                notificationID: row.string(0), step: row.string(1), subject: row.string(2), at: row.integer(3),
                toldAt: row.optionalString(4), detail: row.optionalBytes(5))
        }
    }

    /// Forgets those heard before `cutoff`: by then their notifications are forgotten, or never were.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try deleteOld.change(.integer(cutoff), .integer(most))
    }
}
