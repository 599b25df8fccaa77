import Access
import Foundation
import Testing

@testable import Fleet

/// Runs every statement of the store once, then checks each of them. SQL is written inside the methods that use it, so
/// without these tests an error in it would be noticed only when the method is called.
@Suite struct SQLTests {
    private let store = TemporaryStore()

    @Test func everyStatementIsValidUsesOnlyCommonSQLAndIsCoveredHere() throws {
        let executor = try store.pushing()
        try runAll(executor)
        let database = executor.database
        for sql in database.preparedSQL {
            if database.sqlite != nil { #expect(throws: Never.self, "\(sql)") { _ = try database.dump("EXPLAIN \(sql)") } }
            for word in Self.sqliteOnly where !sql.contains("sqlite_master") {
                #expect(!sql.replacing("json_each(?)", with: "").uppercased().contains(word), "\(word) in \(sql)")
            }
        }
        #expect(Set(database.preparedSQL).count == database.preparedSQL.count, "two literals have the same text")
        // If this fails after you have added a statement, call the statement's method in `runAll(_:)`.
        #expect(try database.preparedSQL.count == Self.callSites())
    }

    /// Words that PostgreSQL does not support or interprets differently.
    /// ``SQLDialect/statement(_:)`` translates `json_each(?)`.
    private static let sqliteOnly = [
        "PRAGMA", "REPLACE", "CHANGES(", "LAST_INSERT_ROWID", "ROWID", "IFNULL", "GLOB", "LIKE", "UNIXEPOCH", "STRFTIME",
        "JSON_", "SQLITE_", "BLOB", "INDEXED BY", "?1", "TOTAL(", "GROUP_CONCAT",
    ]

    /// The number of calls of `database.first(…)`, `.all`, `.each`, `.change`, `.changeCountingRows` in Fleet. Each call has its own
    /// statement.
    private static func callSites() throws -> Int {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let sources = package.appending(path: "Sources/Fleet/Fleet")
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
        var count = 0
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            let code = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { !$0.contains("///") }
            count += code.filter { $0.contains(/\bdatabase\.(first|all|each|change|changeCountingRows)\(/) }.count
        }
        return count
    }

    /// Statements that run with each command, report or slice must not scan tables.
    @Test(.fileOnly) func frequentStatementsUseTheirIndexes() throws {
        let executor = try store.pushing()
        try runAll(executor)
        let plans: [(fragment: String, plan: String)] = [
            ("ORDER BY job.turn, job.number", "SEARCH job USING INDEX push_jobs_ready (lane=?)"),
            (
                "ORDER BY job.turn, job.number",
                "SEARCH newer USING COVERING INDEX push_jobs_news (recipient=? AND collapse_key=? AND"
            ),
            (
                "ORDER BY job.turn, job.number",
                "SEARCH sibling USING INDEX push_jobs_sending (device_id=? AND collapse_key=?)"
            ),
            (
                "reason = 'superseded'",
                "SEARCH push_jobs USING INDEX push_jobs_news (recipient=? AND collapse_key=? AND notification_id<?)"
            ),
            ("SET device = CASE", "SEARCH notifications USING INDEX sqlite_autoindex_notifications_2 (channel=? AND"),
            ("AND expires_at > ? AND created_at + 0 > ?", "notifications_unconfirmed (expires_at>?)"),
            (
                "AND created_at + 0 = ? AND COALESCE(id, '') < ?",
                "SEARCH notifications USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
            ),
            ("order_code = ? AND id < ? AND notification", "audit_by_order (order_code=? AND id<?)"),
            ("created_at + 0 > ? AND unconfirmed = 1", "USING INDEX sqlite_autoindex_notifications_1 (id>? AND id<?)"),
            ("AND COALESCE(channel, '') < 'drivers-d'", "USING INDEX sqlite_autoindex_notifications_1 (id>?)"),
            ("SELECT id FROM notifications WHERE id > ? AND created_at + 0", "sqlite_autoindex_notifications_1 (id>?)"),
            ("IN ('queued', 'waiting') AND ((fallback", "USING INDEX push_jobs_open (recipient=?)"),
            ("AND due_at <= ?", "USING INDEX push_jobs_waiting (lane=? AND due_at<?)"),
            ("SELECT due_at FROM push_jobs", "USING COVERING INDEX push_jobs_waiting (lane=?)"),
            ("SELECT turn FROM push_jobs", "USING COVERING INDEX push_jobs_ready (lane=?)"),
            ("MIN(number) FROM push_jobs WHERE lane = ? AND state = 'queued'", "USING COVERING INDEX push_jobs_ready (lane=?)"),
            (
                "MIN(number) FROM push_jobs WHERE lane = ? AND state = 'waiting'",
                "USING COVERING INDEX push_jobs_waiting (lane=?)"
            ),
            (
                "unconfirmed = 0 WHERE channel = ? AND sequence > ?",
                "USING INDEX sqlite_autoindex_notifications_2 (channel=? AND sequence>? AND sequence<?)"
            ),
            ("unconfirmed = 0 WHERE id IN (SELECT value", "USING INDEX sqlite_autoindex_notifications_1 (id=?)"),
            ("SELECT event, seen_at, acknowledged_at FROM notifications WHERE id IN", "notifications_1 (id=?)"),
            ("SELECT event, seen_at, acknowledged_at FROM notifications WHERE channel", "notifications_2 (channel=? AND"),
            (
                "UPDATE inbox_entries AS entry SET read_at = ?",
                "SEARCH entry USING INDEX sqlite_autoindex_inbox_entries_1 (recipient=? AND notification_id=?)"
            ),
            ("WHERE recipient = ? AND read_at IS NULL", "USING INDEX inbox_entries_unread (recipient=?)"),
            ("SELECT MAX(notification_id)", "USING COVERING INDEX sqlite_autoindex_inbox_entries_1 (recipient=?)"),
            (
                "AND owner = ? LIMIT ?)",
                "SEARCH notifications USING COVERING INDEX sqlite_autoindex_notifications_2 (channel=? AND"
            ),
            ("AND owner = ? LIMIT ?)", "SEARCH deliveries USING PRIMARY KEY (number=? AND owner=?)"),
            ("UPDATE notification_steps SET detail = NULL", "notification_steps_by_subject (subject=?)"),
            ("AND (updated_at, code) > (?, ?)", "SEARCH orders USING INDEX orders_idle ("),
            ("AND (updated_at, id) > (?, ?)", "SEARCH routes USING INDEX routes_idle ("),
            ("SELECT 1 FROM read_marks WHERE recipient", "COVERING INDEX read_marks_by_recipient (recipient=? AND entry>?)"),
            ("ORDER BY job.turn, job.number", "SEARCH mark USING COVERING INDEX sqlite_autoindex_read_marks_1 (channel=?"),
            (
                "AND step.subject = ?) ORDER BY sequence LIMIT ?",
                "SEARCH mark USING COVERING INDEX sqlite_autoindex_read_marks_1 (channel=? AND sequence>?)"
            ),
            ("SET state = 'expired'", "USING INDEX push_jobs_ageing (lane=? AND expires_at<?)"),
            ("SELECT MAX(turn)", "USING INDEX push_jobs_open (recipient=? AND lane=?)"),
            ("ELSE 'superseded' END", "SEARCH newer USING COVERING INDEX push_jobs_news (recipient=? AND collapse_key=? AND"),
            ("ORDER BY job.device_id", "SEARCH job USING INDEX sqlite_autoindex_push_jobs_2 (notification_id=?)"),
            (
                "AND device_id = ? AND settled_at IS NULL LIMIT 1",
                "USING INDEX sqlite_autoindex_push_jobs_2 (notification_id=? AND device_id=?)"
            ),
            ("WHERE expanding = 1 ORDER BY", "USING INDEX push_audiences_expanding (expanding=?)"),
            ("DELETE FROM push_audiences WHERE notification_id IN", "(notification_id<?)"),
            ("DELETE FROM push_jobs WHERE number IN", "USING INDEX sqlite_autoindex_push_jobs_2 (notification_id<?)"),
            ("WHERE quarantined_at IS NOT NULL", "USING INDEX devices_quarantined"),
            ("AND owner < 'driver;' AND last_seen_at >= ? ORDER BY", "USING INDEX devices_by_owner ("),
            ("SELECT COUNT(DISTINCT owner)", "SEARCH devices USING INDEX devices_by_owner ("),
            ("SELECT COUNT(DISTINCT owner)", "SEARCH deliveries USING PRIMARY KEY (number=?)"),
            ("SELECT COUNT(DISTINCT owner)", "sqlite_autoindex_notification_steps_1 (notification_id=? AND step=?)"),
            (
                "COUNT(*) FROM notification_steps WHERE subject",
                "USING COVERING INDEX notification_steps_by_subject (subject=? AND stray=?)"
            ),
            ("COUNT(*) FROM idempotency WHERE subject", "USING COVERING INDEX"),
            (
                "DELETE FROM idempotency WHERE subject = ? AND key IN",
                "SEARCH idempotency USING INDEX idempotency_by_subject (subject=?)"
            ),
            ("UPDATE orders SET driver_name = NULL", "USING INDEX orders_by_named_driver (driver_id=?)"),
            ("UPDATE orders SET driver_name = NULL", "USING INDEX orders_by_named_trip (driver_id=?)"),
            (
                "INSERT INTO unpublished (notification_id) SELECT",
                "SEARCH notifications USING COVERING INDEX sqlite_autoindex_notifications_1 (id>?)"
            ),
            ("sequence >= ?", "USING INDEX sqlite_autoindex_notifications_2 (channel=? AND sequence>?)"),
            ("SELECT COALESCE(booking_reference, code), status", "USING INDEX orders_by_customer (customer_id=?)"),
            ("UPDATE routes SET driver_name = NULL", "USING INDEX routes_by_named_driver (driver_id=?)"),
            (
                "AND state = 'accepted' AND number <> ? LIMIT 1",
                "USING INDEX push_jobs_accepted (notification_id=? AND recipient=?)"
            ),
            ("WHERE message_id = ?", "USING INDEX push_jobs_by_message (message_id=?)"),
            ("state IN ('sending', 'accepted')", "USING INDEX push_jobs_news (recipient=? AND collapse_key=?)"),
            ("order_code = ? AND action <> 'remind' ORDER BY id DESC", "USING INDEX audit_by_order (order_code=?)"),
            ("entry.notification_id < ?", "SEARCH entry USING INDEX sqlite_autoindex_inbox_entries_1 (recipient=? AND"),
            (
                "SELECT COUNT(confirmed_at)",
                "SEARCH notifications USING INDEX sqlite_autoindex_notifications_2 (channel=? AND sequence>? AND sequence<?)"
            ),
            (
                "SELECT COUNT(confirmed_at)",
                "SEARCH deliveries USING PRIMARY KEY (number=? AND owner=?)"
            ),
            (
                "SELECT number, ?, ?, ?, ? FROM notifications",
                "SEARCH notifications USING INDEX sqlite_autoindex_notifications_2 (channel=? AND sequence>?"
            ),
            ("device FROM deliveries WHERE number < ?", "SEARCH deliveries USING PRIMARY KEY (number<?)"),
            (
                "SELECT 1 FROM notifications WHERE id = ? AND (channel",
                "SEARCH deliveries USING PRIMARY KEY (number=? AND owner=?)"
            ),
            (
                "JOIN notifications ON notifications.number = push_names.number WHERE name = ?",
                "push_names USING INTEGER PRIMARY KEY"
            ),
            (
                "AND recipient <> '' AND",
                "SEARCH outcome USING COVERING INDEX push_outcomes_by_recipient (number=? AND recipient=?)"
            ),
            (
                "DELETE FROM inbox_entries WHERE (recipient",
                "SEARCH inbox_entries USING INDEX inbox_entries_by_notification (notification_id=?)"
            ),
            ("FROM notification_steps WHERE notification_id IN", "sqlite_autoindex_notification_steps_1 (notification_id=?)"),
            ("WHERE settled_at IS NOT NULL ORDER BY settled_at", "SEARCH job USING INDEX push_jobs_settled (settled_at>?)"),
            ("SELECT step FROM notification_steps", "(notification_id=? AND step=? AND subject=?)"),
            ("WHERE id = ? ORDER BY owner, device LIMIT", "SEARCH deliveries USING PRIMARY KEY (number=?)"),
            ("SELECT COUNT(*), MAX(sequence) FROM cursors", "USING INDEX sqlite_autoindex_cursors_1 (channel=? AND owner=?)"),
            ("SELECT MAX(sequence) FROM notifications", "USING COVERING INDEX sqlite_autoindex_notifications_2 (channel=?)"),
            ("SELECT sequence, id FROM notifications", "USING INDEX sqlite_autoindex_notifications_2 (channel=? AND sequence>?)"),
            ("DELETE FROM cursors WHERE (channel", "USING INDEX cursors_by_age (updated_at<?)"),
            (
                "step.subject = ?) ORDER BY sequence LIMIT",
                "SEARCH notifications USING INDEX sqlite_autoindex_notifications_2 (channel=? AND sequence>?)"
            ),
            (
                "step.subject = ?) ORDER BY sequence LIMIT",
                "SEARCH step USING COVERING INDEX sqlite_autoindex_notification_steps_1 (notification_id=? AND step=? AND subject=?)"
            ),
            (
                "ORDER BY sequence DESC LIMIT 1 OFFSET",
                "SEARCH notifications USING INDEX sqlite_autoindex_notifications_2 (channel=? AND sequence>?)"
            ),
            (
                "SELECT COUNT(*), MIN(created_at)",
                "SEARCH notifications USING INDEX sqlite_autoindex_notifications_2 (channel=? AND sequence>? AND sequence<?)"
            ),
            ("AND created_at < ? ORDER BY sequence DESC", "USING INDEX sqlite_autoindex_notifications_2 (channel=?)"),
            ("status = 'COLLECTING' AND window_ends_at <= ?", "USING INDEX batches_collecting (window_ends_at<?)"),
            ("account_id = ? AND status IN ('DISPATCHED', 'IN_PROGRESS')", "USING INDEX batches_active (account_id=?)"),
            ("SELECT completed_at, delivered", "USING INDEX batches_completed (account_id=? AND completed_at>?)"),
            ("LEFT JOIN driver_availability AS switch", "SEARCH accounts USING INDEX sqlite_autoindex_accounts_3 (person_id=?)"),
            ("FROM driver_availability JOIN accounts", "driver_availability_online (account_id>?)"),
            ("UPDATE audit SET details = NULL", "USING INDEX audit_by_actor (actor=?)"),
            ("state IN ('accepted', 'sending')", "(notification_id=?"),
            ("status_before = 'en_route'", "USING INDEX audit_by_order (order_code=?)"),
            ("SELECT id, details FROM audit WHERE has_position = 1 AND at", "USING INDEX audit_positions (at<?)"),
            (
                "FROM code_sessions WHERE phone = ? AND is_own = ? AND sent_at <= ?",
                "USING INDEX code_sessions_by_phone (phone=? AND sent_at<?)"
            ),
            ("SELECT at FROM code_sends", "USING INDEX code_sends_by_phone (phone=? AND at>?)"),
            ("FROM code_counts WHERE subject IN", "sqlite_autoindex_code_counts_1 (subject=? AND hour>? AND hour<?)"),
            ("SELECT digest, key_id", "USING INDEX sqlite_autoindex_own_addresses_1 (phone=?)"),
            ("SELECT at FROM code_tries", "USING INDEX code_tries_by_phone (phone=? AND at>?)"),
            ("DELETE FROM inbox_entries WHERE recipient = ?", "sqlite_autoindex_inbox_entries_1 (recipient=? AND"),
            ("COALESCE(booking_reference, code) = ?", "USING INDEX orders_by_reference (<expr>=?)"),
            ("SELECT id, reason, details FROM audit", "USING INDEX sqlite_autoindex_audit_1 (id>?)"),
            (
                "(notification_id, step, subject) > (",
                "USING INDEX sqlite_autoindex_notification_steps_1 ((notification_id,step,subject)>(?,?,?))"
            ),
        ]
        for (fragment, expected) in plans {
            let statements = executor.database.preparedSQL.filter { $0.contains(fragment) }
            guard statements.count == 1 else {
                Issue.record("\(fragment) \(statements)")
                continue
            }
            let plan = try executor.database.dump("EXPLAIN QUERY PLAN \(statements[0])")
                .map { $0.split(separator: "|").last.map(String.init) ?? "" }.joined(separator: "; ")
            // The list of ids in a parameter is no table.
            let isScan = plan.replacing("SCAN json_each", with: "").contains("SCAN")
            #expect(plan.contains(expected) && !isScan && !plan.contains("TEMP B-TREE"), "\(plan)\n\(statements[0])")
        }
    }

    // MARK: Every method

    private func runAll(_ executor: CommandExecutor) throws {
        try executor.database.transaction { () throws(DatabaseError) in
            try runJobs(executor)
            try runAccounts(executor.accounts)
            try runBatches(executor)
            try runCodes(executor)
            try runCluster(executor.database)
            try runNotifications(executor)
            try runDelivery(executor)
            try runDevices(executor)
            try runPushJobs(executor)
            try runErasures(executor.erasures)
            try runPublication(executor.publication)
            try runClock(ClockTable(database: executor.database))
        }
        try runResults(executor)
        try Migrations().apply(to: executor.database, now: noon)
        try testKeys("k1").check(against: executor.database)
    }

    private func runPublication(_ publication: PublicationTable) throws(DatabaseError) {
        _ = try publication.recover()
        try publication.remember("N")
        var published = Published()
        published.position = "N"
        published.recovered = ["N"]
        try publication.record(published)
    }

    private func runAccounts(_ accounts: AccountTable) throws(DatabaseError) {
        let account = Account.sample()
        try accounts.store(account)
        _ = try (accounts.account(uid: "U"), accounts.account(ofDriver: "D"), accounts.account(id: account.id))
        _ = try (accounts.account(phone: "1"), accounts.newest(nil, before: nil, limit: 1))
        _ = try accounts.newest(.pending, before: account, limit: 1)
        try accounts.each { _ in }
        try accounts.remove(id: account.id)
    }

    private func runBatches(_ executor: CommandExecutor) throws(DatabaseError) {
        let (batches, orders, account) = (executor.batches, executor.batches.orders, Account.sample())
        let batch = Batch.sample()
        let order = batch.orders[0].id
        try batches.store(BatchChange(stored: nil, batch: batch))
        var without = batch
        without.orders = []
        _ = try (batches.batch(batch.id), batches.batch(ofOrder: order), batches.active(of: account.id))
        _ = try batches.orderElsewhere([order], than: account.id)
        _ = try (batches.waiting(most: 1), batches.due(at: noon, most: 1))
        _ = try batches.completed(of: account.id, since: 0)
        _ = try batches.clearName(ofDriver: "42", most: 1)
        try orders.store(reportResponse: [], of: order, in: batch.id)
        _ = try orders.reportResponse(of: order, in: batch.id)
        try orders.store(OTPAttempts(wrongAt: [noon]), for: order, now: noon)
        _ = try (orders.attempts(for: order), orders.deleteAttempts(before: 0, most: 1))
        _ = try (orders.texts(ofCustomer: "7"), orders.namesCustomer("7"))
        _ = try orders.clear(customer: "7", most: 1)
        _ = try orders.clearReports(ofAccount: account.id, most: 1)
        _ = try orders.hasOpen(ofCustomer: "7", createdUntil: noon)
        _ = try orders.hasEndedToClear(ofCustomer: "7", createdUntil: noon)
        try batches.store(BatchChange(stored: batch, batch: without))
        without.status = .cancelled
        try batches.store(BatchChange(stored: without, batch: without))
        _ = try batches.deleteExpired(before: .max, most: 1)
        let switches = executor.outbox.availability
        try switches.store(
            Availability(accountID: account.id, personID: "42", isOnline: true, since: noon), now: noon)
        _ = try (switches.availability(of: account), switches.mayHear(ofBatches: "driver:42"))
        _ = try switches.online(after: "", most: 1)
        try switches.setSeen(account.id.text, at: noon)
        try switches.remove(account: account.id)
    }

    private func runCluster(_ database: Database) throws(DatabaseError) {
        let table = ClusterTable(database: database)
        try table.create()
        try table.goOn()
        try table.store(
            ClusterHead(
                position: 1, notificationID: "N", auditID: "A", pushNumber: 1, writtenAt: noon, leader: "e", leaderUntil: noon,
                now: noon))
        try table.append(LogEntry(position: 1, record: [1]), of: "e", at: noon)
        _ = try table.entries(after: 0)
        try table.store(ClusterMember(name: "n", epoch: "e", applied: { 0 }), written: "N", isNew: true, at: noon)
        _ = try table.deleteOld(before: noon, most: 1)
        try table.remove("e")
    }

    private func runCodes(_ executor: CommandExecutor) throws(DatabaseError) {
        let (codes, customers) = (executor.signIns, executor.customers)
        let session = SignInCodeSession(id: "S", phone: "+1", now: noon)
        try codes.store(SignInCodeTable.Stored(session: session, sendID: "1", sends: 1, keyID: "k", digest: [1], answer: nil))
        _ = try (codes.session(id: "S"), codes.newest(ofPhone: "+1", isOwn: false, until: 1), codes.forgetSending(before: noon))
        try codes.addSend(SignInCodeTable.Send(id: "1", phone: "+1", isOwn: false, at: noon, prefix: nil, address: nil))
        _ = try (codes.sends(toPhone: "+1", isOwn: false, since: 0), codes.removeSend("1"))
        try codes.addTry("1", phone: "+1", isOwn: false, at: noon)
        _ = try codes.tries(forPhone: "+1", isOwn: false, since: 0)
        try codes.erase(phone: "+1")
        _ = try codes.deleteExpired(now: noon, most: 1)
        let customer = Customer(id: try customers.nextID(), phone: "+1", now: noon)
        try customers.store(customer)
        _ = try (customers.customer(id: customer.id), customers.customer(phone: "+1"))
        _ = try customers.isEmailTaken("a@b.c", exceptBy: 1)
        _ = try (customers.emailRefusals(id: 1), customers.duplicates())
        try customers.store(EmailRefusals(), id: 1)
        try addDuplicate(of: customer, executor)
        try customers.remove(customer)
        let counters = executor.codeCounters
        try counters.count(.all, at: noon)
        try counters.withdraw(.all, at: noon)
        _ = try (counters.counts(of: [.all], now: noon), counters.prefix("+1"))
        try counters.store(SignInCodePrefix(), of: "+1", now: noon)
        let address = SignInCodeLimitTable.OwnAddress(digest: [1], keyID: "k", signedInAt: noon)
        try counters.store(address, of: "+1")
        _ = try counters.addresses(of: "+1")
        try counters.remove(address, of: "+1")
        try counters.erase(phone: "+1")
        _ = try counters.deleteExpired(now: noon, most: 1)
        _ = try (executor.orders.openReferences(ofCustomer: "7", most: 1), executor.orders.namesCustomer("7"))
        try executor.endedTokens.add(EndedTokens(key: "S", until: noon))
        _ = try executor.endedTokens.contains("S")
        try executor.endedTokens.each { _ in }
        _ = try executor.endedTokens.deleteExpired(now: noon, most: 1)
    }

    /// An account that gets the customer's number when the customer goes.
    private func addDuplicate(of customer: Customer, _ executor: CommandExecutor) throws(DatabaseError) {
        try executor.customers.store(Customer(id: 9, phone: "+9", now: noon))
        try executor.database.run("INSERT INTO customer_duplicates (id, phone) VALUES (9, '\(customer.phone)')")
    }

    private func runJobs(_ executor: CommandExecutor) throws(DatabaseError) {
        let (orders, routes) = (executor.orders, executor.routes)
        try orders.store(Order(code: "A"), now: noon)
        _ = try orders.order(job: "B", driverID: "42")
        _ = try (orders.idle(after: .start, most: 1), routes.idle(after: .start, most: 1))
        _ = try orders.open(driverID: "42")
        _ = try orders.deleteExpired(before: 0, most: 1)
        _ = try orders.clearName(ofDriver: "42", most: 1)
        _ = try orders.clearName(ofCustomer: "7", most: 1)
        _ = try orders.clearPlaces(ofCustomer: "7", most: 1)
        for person in [driver("42"), customer("7")] {
            _ = try orders.names(of: person)
            _ = try orders.hasOpen(of: person, createdUntil: noon)
        }
        _ = try orders.hasEndedOrderToClear(ofCustomer: "7", createdUntil: noon)
        _ = try orders.references(ofCustomer: "7")
        _ = try orders.addresses(ofCustomer: "7")
        try routes.store(Route(id: "R"), now: noon)
        _ = try routes.route(id: "R")
        _ = try routes.open(driverID: "42")
        _ = try routes.deleteExpired(before: 0, most: 1)
        _ = try routes.clearName(ofDriver: "42", most: 1)
        _ = try routes.names(ofDriver: "42")
        _ = try routes.hasOpen(ofDriver: "42", createdUntil: noon)
        try executor.drivers.store(DriverCard(id: "42"), now: noon)
        _ = try executor.drivers.card(ofDriver: "42")
        try executor.drivers.remove(ofDriver: "42")
        _ = try orders.newest(reference: "A")
        _ = try orders.openCodes(booking: "B", driverID: "42")
        _ = try executor.auditTable.arrivalHistory(ofOrder: "A", by: "driver:42")
        _ = try orders.hasUnderWay(ofDriver: "42")
        try executor.positions.store(
            DriverPosition(driverID: "42", position: Position(latitude: 1, longitude: 2, recordedAt: noon)))
        try executor.positions.each { _ in }
        _ = try executor.positions.remove(ofDriver: "42")
        _ = try executor.positions.deleteExpired(before: 0, most: 1)
    }

    private static let logged = LoggedNotification(
        notification: Notification(
            id: "N", channel: "driver-42", event: "e", data: Array("{}".utf8), createdAt: noon, expiresAt: noon,
            collapseKey: "N"),
        sequence: 1, correlationID: "c", actor: "admin:1", action: "a", readAt: nil)

    private func runNotifications(_ executor: CommandExecutor) throws(DatabaseError) {
        let (notifications, audit) = (executor.notifications, executor.auditTable)
        let (steps, responses) = (executor.steps, executor.idempotency)
        _ = try notifications.lastID()
        _ = try notifications.firstNumber(since: 0)
        _ = try executor.retentionLag(now: noon, lifetime: 1)
        try notifications.append(Self.logged)
        _ = try notifications.notification(id: "N")
        _ = try notifications.head(of: "N")
        _ = try notifications.following(Self.logged, most: 1)
        _ = try notifications.expired(after: 0, upTo: noon)
        _ = try notifications.newest(channel: "driver-42", before: nil, limit: 1)
        _ = try notifications.sequence(of: "driver-42", before: "~")
        _ = try notifications.report(id: "N", now: noon)
        for filter in [NotificationFilter(), .init(channel: "driver-42"), .init(state: .unconfirmed)] {
            _ = try notifications.reports(filter, limit: 1)
        }
        try audit.append(
            AuditEntry(at: noon, actor: "admin:1", action: "a", subject: .order("A"), correlationID: "c"), id: "0",
            firstNotification: "N")
        _ = try notifications.reports(of: Order(code: "A"), before: .end, limit: 1, now: noon)
        _ = try notifications.unconfirmedCount(createdAfter: 0, until: noon, now: noon)
        _ = try notifications.ids(after: "", createdUntil: noon, most: 1)
        _ = try notifications.unconfirmedOfDrivers(after: "", upTo: "~", createdAfter: 0)
        var count = NotificationTable.FiguresCount(createdAfter: 0)
        _ = try notifications.count(&count, most: 1)
        _ = try notifications.markAcknowledged("N", now: noon)
        _ = try notifications.markSeen("N", channel: "driver-42", readTo: 0, now: noon)
        _ = try notifications.markRead(ids: Array(#"["N"]"#.utf8), channel: "driver-42", after: 0, now: noon)
        try executor.database.run("UPDATE notifications SET read_at = NULL")
        _ = try notifications.markRead(channel: "driver-42", after: 0, upTo: 9, at: noon)
        _ = try notifications.sequence(of: "driver-42", 1, after: 0)
        for row in try notifications.rowsToRedact(after: "", upTo: "~", most: 1) {
            try notifications.replaceData(of: row, by: Array("{}".utf8))
        }
        _ = try notifications.deleteExpired(before: 0, most: 1)
        _ = try notifications.endOfOldest(before: 0, most: 1)
        for _ in 1...2 { _ = try executor.sequences.next(channel: "driver-42", now: noon) }
        _ = try executor.sequences.last(of: "driver-42")
        _ = try executor.sequences.addUnread(channel: "customer-7", now: noon)
        _ = try executor.sequences.unread(channel: "driver-42")
        _ = try executor.sequences.readTo(channel: "driver-42")
        _ = try executor.sequences.markAllRead(channel: "driver-42")
        try executor.sequences.subtract(unread: 1, unmarked: 1, channel: "driver-42")
        _ = try executor.sequences.deleteExpired(before: 0, most: 1)
        try executor.probe.insert()
        try executor.probe.remove()
        let step = NotificationStep("received", of: "N", at: noon, subject: "driver:42")
        _ = try steps.record(step, isStray: false)
        _ = try steps.count(of: "N", by: "driver:42")
        _ = try steps.kinds(of: "N", by: "driver:42")
        _ = try steps.strayCount(of: "driver:42")
        _ = try steps.clearDetails(of: "driver:42", most: 1)
        for row in try steps.rowsToRedact(after: .init(), most: 1) { try steps.replaceDetail(of: row.key, by: []) }
        _ = try steps.steps(of: "N")
        _ = try steps.deleteExpired(before: 0, most: 1)
        _ = try steps.deleteOfOldNotifications(before: 0, notifications: 1, most: 1)
        let inbox = executor.inbox
        try inbox.add(Self.logged.notification, for: "customer:7", afterSequence: 1)
        _ = try inbox.afterSequence(of: "N", for: "customer:7")
        _ = try inbox.newest(for: "customer:7", before: nil, limit: 1)
        _ = try inbox.markSeen("N", for: "customer:7", now: noon)
        _ = try inbox.lastID(for: "customer:7")
        _ = try inbox.markRead(ids: Array(#"["N"]"#.utf8), for: "customer:7", now: noon)
        _ = try inbox.markRead(upTo: "N", for: "customer:7", at: noon, most: 1)
        _ = try inbox.readSteps(of: "N")
        _ = try inbox.remove(of: "customer:7", upTo: "N", most: 1)
        _ = try inbox.expired(after: 0, upTo: noon)
        _ = try inbox.deleteExpired(before: 0, notifications: 1, most: 1)
        for number in 0...Int64(ReadMarkTable.perInboxMax) {
            try executor.readMarks.add(
                ReadMarkTable.Mark(
                    channel: "customer-7", sequence: number, entry: "N", recipient: "customer:7", readAt: noon, writtenTo: 0))
        }
        _ = try executor.readMarks.covers(entry: "N", of: "customer:7")
        if let mark = try executor.readMarks.first() {
            try executor.readMarks.advance(mark, to: 1)
            try executor.readMarks.remove(mark)
        }
        _ = try audit.lastID()
        try audit.append(
            AuditEntry(at: noon, actor: "admin:1", action: "a", subject: .order("A"), correlationID: "c"), id: "1")
        _ = try audit.last(ofOrder: "A")
        try audit.entries(of: .order("A")) { _ in }
        try audit.entries(of: .route("R")) { _ in }
        try audit.entries(of: .account("A")) { _ in }
        try audit.entries(of: .batch("A")) { _ in }
        _ = try audit.clearDetails(of: "admin:1", most: 1)
        _ = try audit.positions(before: noon, most: 1)
        _ = try audit.arrivals(ofDriver: "42", most: 1)
        try audit.removePosition(of: "1", details: nil)
        for row in try audit.rowsToRedact(after: "", most: 1) {
            try audit.replace(reason: nil, details: nil, of: row.id)
        }
        _ = try audit.deleteExpired(before: 0, most: 1)
        try responses.store(.init(digest: [1], status: 200, body: []), subject: "admin:1", key: "k", now: noon)
        _ = try responses.response(subject: "admin:1", key: "k", now: noon)
        for row in try responses.rowsToRedact(after: 0, about: 1) { try responses.replaceBody(of: row, by: []) }
        _ = try responses.count(of: "admin:1")
        _ = try responses.deleteOldest(of: "admin:1", most: 1)
        _ = try responses.deleteExpired(now: noon, most: 1)
    }

    private func runDelivery(_ executor: CommandExecutor) throws(DatabaseError) {
        let key = ReceiptKey(channel: "driver-42", owner: "driver:42", device: "d")
        let receipt = Receipt(key: key, after: 0, upTo: 1, writtenAt: noon, confirmedAt: noon)
        _ = try executor.record(receipt, now: noon)
        let other = ReceiptKey(channel: "driver-42", owner: "driver:42", device: "e")
        _ = try executor.record(Receipt(key: other, after: 0, upTo: 1, writtenAt: noon, confirmedAt: noon), now: noon)
        let ofAll = ReceiptKey(channel: "drivers-channel", owner: "driver:42", device: "d")
        _ = try executor.subscribe(subscription(ofAll), now: noon)
        _ = try executor.record(Receipt(key: ofAll, after: 0, upTo: 1, writtenAt: noon, confirmedAt: noon), now: noon)
        _ = try executor.checkConfirmations(now: noon + hour)
        _ = try executor.outbox.recipients.recipients(of: Self.logged, backlog: 1)
        _ = try executor.outbox.recipients.isConfirmed(Self.logged, by: key.owner)
        _ = try executor.outbox.recipients.reachableCount(unconfirmed: Self.logged, except: nil, since: 0, [.fcm])
        _ = try executor.outbox.broadcasts.broadcast(of: "R")
        try executor.outbox.broadcasts.addReminder("R")
        try executor.outbox.cancelNeedless(of: key.owner, reason: "confirmed", now: noon)
        _ = try executor.cursors.cursor(of: key)
        _ = try executor.cursors.furthest(of: key.owner, channel: key.channel)
        _ = try executor.cursors.removeLeastUsed(of: key.owner, channel: key.channel, keeping: 20)
        try executor.cursors.touch(key, now: noon)
        try executor.cursors.remove(of: key.owner, channel: key.channel)
        _ = try executor.cursors.deleteUnused(since: 0, most: 1)
        _ = try executor.deliveries.steps(of: Self.logged, most: 1)
        _ = try executor.deliveries.isConfirmed(notificationID: "N", by: key.owner)
        _ = try executor.outbox.jobs.firstAccepted(of: "N", for: key.owner)
        _ = try executor.deliveries.remove(channel: key.channel, of: key.owner, after: 0, upTo: 1, most: 1)
        _ = try executor.deliveries.deleteAll(channel: key.channel, after: 0, upTo: 1, most: 1)
        _ = try executor.deliveries.deleteExpired(beforeNumber: 0, most: 1)
        _ = try executor.notifications.lastExpired(of: key.channel, after: 0, at: noon, most: 1)
        try executor.sequences.eraseAll(channel: key.channel)
        _ = try executor.sequences.end(of: key.channel)
        let pending = NotificationTable.Pending(channel: key.channel, owner: key.owner, expiresAfter: noon)
        _ = try executor.notifications.next(pending, after: 0, limit: 1)
        _ = try executor.notifications.newest(pending, after: 0, skipping: 1)
        _ = try executor.notifications.summary(pending, after: 0, upTo: 1)
        _ = try executor.notifications.last(of: key.channel, createdBefore: noon)
    }

    private func runDevices(_ executor: CommandExecutor) throws(DatabaseError) {
        let outbox = executor.outbox
        let (devices, bookings, preferences) = (outbox.devices, outbox.bookings, outbox.preferences)
        let device = StoredDevice(
            id: "d", provider: .fcm, platform: nil, environment: nil, owner: "driver:42", name: "n", maskedToken: "m",
            registeredAt: noon, lastSeenAt: noon)
        try devices.store(device, sealed: testKeys("k1").seal("token", deviceID: "d"), keyID: "k1")
        _ = try devices.device(id: "d")
        _ = try devices.devices(of: "driver:42")
        _ = try devices.devices(of: "driver:42", named: "n", but: "e")
        _ = try devices.reachable("driver:42", since: 0)
        _ = try devices.reachableDrivers(after: "", since: 0, most: 1)
        _ = try devices.setEnvironment(.sandbox, of: "d")
        try devices.quarantine(id: "d", ifSeenBefore: 0, now: noon)
        try devices.release(id: "d")
        _ = try devices.release(most: 1)
        _ = try devices.remove(id: "d", ifSeenBefore: 0, now: noon)
        _ = try devices.removeUnseen(since: 0, most: 1)
        for row in try devices.sealedTokens(keyID: "k1", after: "", most: 1) {
            try devices.replaceSealedToken(of: row.id, by: row.sealed, keyID: "k1")
        }
        try bookings.replace(of: "customer:7", by: ["B"], issuedAt: noon)
        _ = try bookings.owners(of: "B")
        try bookings.removeIfNoDevices("customer:7")
        try preferences.store(Preferences(), of: "driver:42", now: noon)
        _ = try preferences.json(of: "driver:42")
        _ = try preferences.remove(of: "driver:42")
    }

    private func runPushJobs(_ executor: CommandExecutor) throws(DatabaseError) {
        let (jobs, broadcasts) = (executor.outbox.jobs, executor.outbox.broadcasts)
        let address = DeviceTable.Address(owner: "driver:42", id: "d", lane: .fcm)
        let job = PushJobTable.NewPushJob(
            notificationID: "N", entity: nil, collapseKey: nil, device: address, isFallback: false, round: 0,
            mayHaveEnded: true,
            queuedAt: noon, expiresAt: noon + 1)
        _ = try jobs.queue(job, number: 100, turn: 1)
        _ = try jobs.isOpen("N", on: "d")
        _ = try jobs.lastTurn(of: "driver:42", in: .fcm)
        _ = try jobs.unsent(.fcm)
        _ = try jobs.next(.fcm, most: 1)
        _ = try jobs.requeue(1, unlessFor: "d", reason: "r")
        _ = try (jobs.requeueSending(.fcm, most: 1), jobs.retryAtProduction(most: 1))
        try jobs.postpone(1, until: noon)
        _ = try jobs.cancelIfStale(1, now: noon)
        try jobs.supersede(of: "driver:42", "order:A", before: "N", now: noon, most: 20) { _ in }
        try jobs.transfer(of: "driver:42", from: "d", to: address, shift: 0)
        try jobs.moveLane(of: "driver:42", address, shift: 0)
        for deviceID in ["d", nil] { _ = try jobs.cancel(of: "driver:42", deviceID: deviceID, reason: "r", now: noon) }
        _ = try jobs.notificationID(ofMessage: "m")
        _ = try jobs.isPushed("N", to: "driver:42")
        _ = try jobs.newestNotificationID(withCollapseID: "order:A", pushedTo: "driver:42")
        _ = try jobs.summaries(ofNotification: "N", most: 1)
        _ = try jobs.failJobsOfUnknownLanes(now: noon, most: 1)
        try jobs.drop(1, .expired, reason: nil, now: noon)
        _ = try jobs.expire(.fcm, now: noon, most: 1)
        _ = try jobs.due(.fcm, now: noon, most: 1)
        _ = try jobs.limitDueTimes(.fcm, to: noon, most: 1)
        try jobs.queueRetry(2, turn: 1)
        _ = try jobs.nextDueAt(.fcm)
        _ = try jobs.deleteExpired(before: 0, most: 1)
        _ = try jobs.outcomes.deleteExpired(beforeNumber: 0, most: 1)
        try broadcasts.add(
            PushIntent(notificationID: "N", audience: .everyDriver(except: nil), entity: nil), except: nil,
            isForOnlineDrivers: false)
        try broadcasts.add(named: "M", upTo: "N")
        _ = try (broadcasts.named(from: "M", upTo: "N", most: 1), broadcasts.first())
        try broadcasts.advance("N", to: "driver:42")
        try broadcasts.complete("N")
        try broadcasts.deleteExpired(before: 0, most: 1)
        try broadcasts.remove("N")
    }

    /// Leases jobs to a lane and reports results of each kind that has its own statement.
    private func runResults(_ executor: CommandExecutor) throws {
        try executor.runBackgroundTasks()
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        for result in [
            PushOutcome.Result.accepted(messageID: "m"), .failed(reason: "r"), .returned, .retry(at: noon, reason: "r"),
        ] {
            _ = try executor.commit(announce(to: "42"))
            try executor.report(executor.claim().map { PushOutcome($0, result, wasTried: true) })
        }
        _ = try executor.commit(unregister(fcm("a"), by: driver("42")))
        let outcomes = executor.outbox.jobs.outcomes
        try executor.transaction { () throws(DatabaseError) in
            _ = try outcomes.move(most: 9)
            for id in try executor.notifications.ids(after: "", createdUntil: noon, most: 9) {
                _ = try outcomes.summaries(ofNotification: id, most: 9)
            }
            _ = try outcomes.deleteExpired(beforeNumber: 99, most: 9)
        }
    }

    private func runClock(_ clock: ClockTable) throws(DatabaseError) {
        try clock.store(reading(noon, uptime: 1), as: .trusted)
        _ = try clock.reading(.trusted)
        try clock.remove(.trusted)
    }

    private func runErasures(_ erasures: ErasureTable) throws(DatabaseError) {
        try erasures.add(driver("42"), texts: ["Ann"], lastID: "", now: noon)
        _ = try erasures.first()
        _ = try erasures.waiting(after: "", most: 1)
        try erasures.advanceBroadcasts(to: 1, of: driver("42"))
        try erasures.advanceDeliveries(to: 1, of: driver("42"))
        try erasures.markWaiting(driver("42"))
        try erasures.remove(driver("42"))
    }
}
