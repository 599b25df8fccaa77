extension Schema {
    /// Version 10: the push jobs of a reminder are rows of their own, and a broadcast is kept for its reminders.
    static let reminders =
        jobsByRound + [
            // The row stays when its jobs are created, until the notification is deleted: a reminder has the entity and
            // the exception of the first push. `expanding` is 1 while jobs are being created; `reminder` is their round.
            "ALTER TABLE push_audiences ADD COLUMN expanding BIGINT NOT NULL DEFAULT 1",
            "CREATE INDEX push_audiences_expanding ON push_audiences (expanding, notification_id) WHERE expanding = 1",
        ]

    /// Gives `push_jobs` the column `round`: 0 for a notification's first push, n for its n-th reminder. The table is
    /// written anew, because SQLite cannot change a table's constraint.
    private static let jobsByRound =
        [
            """
            CREATE TABLE push_jobs_by_round (
                number BIGINT NOT NULL PRIMARY KEY, lane TEXT NOT NULL, notification_id TEXT NOT NULL,
                device_id TEXT NOT NULL, recipient TEXT NOT NULL, entity TEXT, collapse_key TEXT, state TEXT NOT NULL,
                turn BIGINT NOT NULL, due_at BIGINT, attempts BIGINT NOT NULL, reason TEXT, message_id TEXT,
                queued_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, settled_at BIGINT,
                fallback BIGINT NOT NULL DEFAULT 0, round BIGINT NOT NULL DEFAULT 0,
                UNIQUE (notification_id, device_id, round))
            """,
            """
            INSERT INTO push_jobs_by_round (\(jobColumns)) SELECT \(jobColumns) FROM push_jobs ORDER BY number
            """,
            "DROP TABLE push_jobs",
            "ALTER TABLE push_jobs_by_round RENAME TO push_jobs",
        ] + jobIndexes

    private static let jobColumns = """
        number, lane, notification_id, device_id, recipient, entity, collapse_key, state, turn, due_at, attempts, reason, \
        message_id, queued_at, expires_at, settled_at, fallback
        """

    /// The indexes that the table had, as the versions 2, 4 and 6 explain them.
    private static let jobIndexes = [
        "CREATE INDEX push_jobs_ready ON push_jobs (lane, turn, number, state) WHERE state = 'queued'",
        "CREATE INDEX push_jobs_waiting ON push_jobs (lane, due_at, number, state) WHERE state = 'waiting'",
        "CREATE INDEX push_jobs_open ON push_jobs (recipient, lane, turn) WHERE settled_at IS NULL",
        """
        CREATE INDEX push_jobs_news ON push_jobs (recipient, collapse_key, notification_id) WHERE collapse_key IS NOT NULL
        """,
        "CREATE INDEX push_jobs_ageing ON push_jobs (lane, expires_at) WHERE settled_at IS NULL",
        """
        CREATE INDEX push_jobs_sending ON push_jobs (device_id, collapse_key)
            WHERE state = 'sending' AND collapse_key IS NOT NULL
        """,
        "CREATE INDEX push_jobs_by_message ON push_jobs (message_id, number) WHERE message_id IS NOT NULL",
        "CREATE INDEX push_jobs_accepted ON push_jobs (notification_id, recipient) WHERE state = 'accepted'",
    ]
}
