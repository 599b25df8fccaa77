import Primitives

/// The steps in the histories of notifications, as devices reported them: for example, that a notification was received
/// or accepted. A step is stray if its notification is not in the log.
struct NotificationStepTable {
    static let table = Table<NotificationStep>(
        "notification_steps", key: ["notification_id", "step", "subject"], others: ["stray"])

    let database: Database

    /// Stores a step, unless the same subject has already reported the same step of the notification.
    /// - Parameter isStray: true if the step's notification is not in the log.
    /// - Returns: true if the step was stored; false if the subject has reported it before.
    func record(_ step: NotificationStep, isStray: Bool) throws(DatabaseError) -> Bool {
        try database.changeCountingRows(Self.table.insertNew, Self.table.values(of: step, .flag(isStray))) > 0
    }

    /// The names of all steps, for statements that look for the steps of one subject: the key has the step before the
    /// subject, and a broadcast has the steps of all drivers.
    static let kinds = TelemetryEvent.Kind.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")

    /// The number of steps of a notification that a subject has reported.
    func count(of notificationID: String, by subject: String) throws(DatabaseError) -> Int {
        Int(
            try database.first(
                Self.countBySubject, .string(notificationID), .string(subject), as: { $0.integer(0) }) ?? 0)
    }

    private static let countBySubject = SQL(
        "SELECT COUNT(*) FROM notification_steps WHERE notification_id = ? AND step IN (\(kinds)) AND subject = ?")

    /// What a subject has reported of a notification.
    func kinds(of notificationID: String, by subject: String) throws(DatabaseError) -> Set<TelemetryEvent.Kind> {
        let names = try database.all(
            Self.kindsBySubject, .string(notificationID), .string(subject), as: { $0.string(0) })
        return Set(names.compactMap(TelemetryEvent.Kind.init))
    }

    private static let kindsBySubject = SQL(
        "SELECT step FROM notification_steps WHERE notification_id = ? AND step IN (\(kinds)) AND subject = ?")

    /// The number of stray steps that a subject has reported.
    func strayCount(of subject: String) throws(DatabaseError) -> Int {
        Int(
            try database.first(
                "SELECT COUNT(*) FROM notification_steps WHERE subject = ? AND stray = 1", .string(subject),
                as: { $0.integer(0) }) ?? 0)
    }

    /// Clears the details of the steps that a subject has reported.
    /// - Returns: the number of steps that had details.
    func clearDetails(of subject: String, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE notification_steps SET detail = NULL WHERE (notification_id, step, subject) IN (SELECT notification_id, step, \
            subject FROM notification_steps WHERE subject = ? AND detail IS NOT NULL LIMIT ?)
            """, .string(subject), .integer(most))
    }

    /// The columns that identify a step.
    struct Key: Equatable {
        var notificationID = ""
        var step = ""
        var subject = ""
    }

    /// At most `most` steps after the step `key`, in the order of their keys.
    func rowsToRedact(after key: Key, most: Int) throws(DatabaseError) -> [(key: Key, detail: [UInt8]?)] {
        try database.all(
            """
            SELECT notification_id, step, subject, detail FROM notification_steps \
            WHERE (notification_id, step, subject) > (?, ?, ?) ORDER BY notification_id, step, subject LIMIT ?
            """, .string(key.notificationID), .string(key.step), .string(key.subject), .integer(most),
            as: { row in
                let key = Key(notificationID: row.string(0), step: row.string(1), subject: row.string(2))
                return (key, row.optionalBytes(3))
            })
    }

    func replaceDetail(of key: Key, by detail: [UInt8]) throws(DatabaseError) {
        try database.change(
            "UPDATE notification_steps SET detail = ? WHERE notification_id = ? AND step = ? AND subject = ?",
            .utf8(detail), .string(key.notificationID), .string(key.step), .string(key.subject))
    }

    /// The most steps of a notification that are listed. One for all drivers may have many more.
    private static let listedMax = 1_000

    /// A notification's steps, oldest first, at most ``listedMax``.
    func steps(of id: String) throws(DatabaseError) -> [NotificationStep] {
        try database.all(Self.selectSteps, .string(id), .integer(Self.listedMax), as: NotificationStep.init(row:))
    }

    // Within one millisecond, steps are sorted in the order in which they can have happened.
    private static let selectSteps = table.select(
        """
        WHERE notification_id = ? \
        ORDER BY at, CASE step WHEN 'received' THEN 0 WHEN 'action_view_now' THEN 1 ELSE 2 END, step, subject LIMIT ?
        """)

    /// Deletes steps of the oldest notifications created before `cutoff`, of at most `notifications`.
    /// - Returns: the number of deleted steps, at most `most`.
    func deleteOfOldNotifications(before cutoff: Int64, notifications: Int, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            Self.deleteOfOld, .string(ULID.least(at: cutoff)), .integer(notifications), .integer(most))
    }

    private static let deleteOfOld = SQL(
        """
        DELETE FROM notification_steps WHERE (notification_id, step, subject) IN (SELECT notification_id, step, subject \
        FROM notification_steps WHERE notification_id IN \(NotificationTable.old) LIMIT ?)
        """)

    /// Deletes steps reported before `cutoff`, the oldest first, at most `most`. Retention deletes notifications after
    /// their steps, so the notifications of these steps have been deleted already or were never in the log.
    /// - Returns: the number of deleted steps.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM notification_steps WHERE (notification_id, step, subject) IN (SELECT notification_id, step, subject \
            FROM notification_steps WHERE at < ? ORDER BY at LIMIT ?)
            """, .integer(cutoff), .integer(most))
    }
}

/// A step as an app has reported it: without a device.
extension NotificationStep: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<NotificationStep>) throws(DatabaseError) -> NotificationStep {
        try NotificationStep(
            column("step", \.step), of: column("notification_id", \.notificationID), at: column("at", \.at),
            subject: column("subject", \.subject), reportedAt: column("told_at", \.reportedAt),
            detail: column("detail", \.detail, as: .utf8))
    }
}
