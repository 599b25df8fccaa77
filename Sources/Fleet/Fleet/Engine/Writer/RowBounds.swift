import Access

/// How many rows a request writes at most. Debug builds check it: see ``CommandExecutor/checkRows(since:_:_:)``. Background
/// tasks declare what a slice writes at most (``BackgroundTask/rows``).
///
/// A row counts each time it is inserted, updated or deleted, as SQLite and PostgreSQL count them; entries of indexes do
/// not count. What may be more has a limit of its own: the rest waits for a background task or for its turn.
extension StoreWriter.Request {
    var rows: Int {
        switch self {
        case .command(let request): request.command.rows
        case .report(let report): report.rows
        case .receipts(let receipts): receipts.reduce(0) { $0 + $1.rows }
        // The cursor, and what makes room for it.
        case .subscription: 3
        case .look: 0
        }
    }
}

/// What commands are made of.
private enum Rows {
    /// A notification: its own row, and twice that of its channel's number.
    static let notification = 3
    /// The audit entry, and what the action changes: an order, route, card or account, and a driver's position or switch.
    static let change = 5
    /// A push for a person: a job on each device, the jobs that these supersede, and an entry of the inbox, which is
    /// counted as unread.
    static let push = CommandExecutor.devicesMax + PushJobTable.cancelledMax + 3
    /// A push for the customers of a booking: the jobs on their devices, those that these supersede, and the inboxes.
    static let bookingPush = PushOutbox.bookingDevicesMax + PushOutbox.bookingCancelledMax + 3 * DeviceBookingTable.ownersMax
    /// A stored response, and those that make room for it.
    static let response = 1 + CommandExecutor.evictedTogether
    /// The bookings of a customer that are replaced or removed.
    static let bookings = 2 * (DeviceBookingTable.bookingsMax + 1)
    /// A device that goes, with its jobs.
    static let device = 1 + PushJobTable.deviceCancelledMax
}

extension Command {
    var rows: Int { action.rows + (idempotencyKey == nil ? 0 : Rows.response) }
}

extension Receipt {
    /// Of each notification the row twice, its delivery and that of another device, and the pushes that are needless now; and
    /// the cursor.
    var rows: Int { (4 + CommandExecutor.needlessPushesMax) * Int(upTo - after) + 1 }
}

extension PushReport {
    /// Each result changes a job and perhaps its device. Each device that goes takes its jobs and bookings with it.
    var rows: Int {
        let removals = outcomes.count { $0.removal != nil }
        let moved = outcomes.count { $0.job.device.token.provider == .apns && $0.job.device.token.environment == nil }
        return 4 * outcomes.count + removals * (Rows.device + Rows.bookings) + moved * (1 + PushJobTable.movedMax)
            + PushOutbox.changedJobsMax * 3 + 2 * capacity + (isFirst ? PushOutbox.takeoverMax : 0)
    }
}

extension Command.Action {
    fileprivate var rows: Int {
        switch self {
        // Nothing is pushed.
        case .order(let action) where action.isForAge: Rows.change + 5 * Rows.notification
        case .route(let action) where action.isForAge: Rows.change + 2 * Rows.notification
        case .order(let action):
            Rows.change + 6 * Rows.notification + 2 * Rows.push + 2 + (action.tellsCustomer ? Rows.bookingPush : 0)
        case .route: Rows.change + 6 * Rows.notification + 2 * Rows.push + 2
        case .driverCard: Rows.change + Rows.notification
        case .acceptJob: Rows.change + 4 * Rows.notification + Rows.bookingPush
        case .acceptRoute: Rows.change + 3 * Rows.notification
        case .correctArrival: Rows.change + 3 * Rows.notification + Rows.push + Rows.bookingPush
        case .progress: Rows.change + 5 * Rows.notification + 2 * Rows.bookingPush
        case .trip(let step):
            if case .arrive = step.kind {
                Rows.change + 5 * Rows.notification + 2 * Rows.bookingPush
            } else {
                Rows.change + Rows.notification + Rows.bookingPush
            }
        // They supersede nothing. The pushes of many are created later.
        case .announce(let announcement) where announcement.recipients > CommandExecutor.pushesMax:
            Rows.change + announcement.recipients * Rows.notification + 1
        case .announce(let announcement):
            Rows.change + announcement.recipients * (Rows.notification + CommandExecutor.devicesMax + 3)
        case .remind: 3
        // The step, the marks of the notification, what becomes needless, and the number of unread ones.
        case .telemetry(let events): events.count * (5 + CommandExecutor.needlessPushesMax)
        case .markRead(let ids?): 2 * ids.count + PushJobTable.cancelledMax + 2
        case .markRead(nil): 3
        case .device(let action): action.rows
        case .updatePreferences: 1
        case .erase: Self.erasureRows
        case .account: Rows.change + 4 * Rows.notification + Rows.push
        case .batch(let request): request.rows
        case .switchAvailability, .endAvailability: Self.endAvailabilityRows
        case .code: 8
        }
    }

    static let endAvailabilityRows = Rows.change + Rows.notification

    fileprivate static let erasureRows =
        CommandExecutor.devicesMax * 2 + Rows.bookings + PushJobTable.movedMax + 10 * CommandExecutor.clearedMax + 50
}

extension OrderAction {
    /// Whether the customers of the booking are told.
    fileprivate var tellsCustomer: Bool {
        switch kind {
        case .removeDriver, .cancel: true
        case .assign, .unassign, .update: false
        }
    }
}

extension Announcement {
    /// The number of people who are named; 1 for all drivers.
    var recipients: Int { if case .drivers(let drivers) = audience { drivers.count } else { 1 } }
}

extension DeviceRegistration {
    /// Registering may move the jobs of the device to another lane and those of an older token to this one, and take the
    /// place of the oldest device. A driver who removes the last device goes offline.
    fileprivate var rows: Int {
        switch kind {
        case .register: 1 + 2 * PushJobTable.movedMax + 3 * Rows.device + 2 * Rows.bookings
        case .unregister: Rows.device + Rows.bookings + Rows.change + Rows.notification
        }
    }
}

extension BatchCommand {
    /// The batch, its orders, some notifications, and the driver's devices.
    fileprivate var rows: Int {
        let news = Rows.change + 4 * Rows.notification + 2 * Rows.push + 2
        return switch self {
        case .edit(_, let edits): news + 2 * (edits.orders?.count ?? 0) + BatchEdits.ordersMax
        case .report, .returnOrder, .cancelOrder: news + 4
        case .ready, .reassign, .unassign, .cancel, .open, .accept, .pickUp, .arrange, .complete, .acknowledge:
            news + BatchEdits.ordersMax
        }
    }
}

extension CommandExecutor {
    /// Checks in debug builds that what was executed has written no more rows than it declares.
    /// - Parameters:
    ///   - start: ``Database/totalChangedRows`` before it.
    ///   - rows: what it declares.
    ///   - name: says what it is.
    func checkRows(since start: Int64, _ rows: @autoclosure () -> Int, _ name: @autoclosure () -> String) {
        // A server tells the numbers of rows later, with those of other requests: see `checkTransaction`.
        assert(
            database.sqlite == nil || database.totalChangedRows - start <= rows(),
            "\(name()) has written \(database.totalChangedRows - start) rows, and declares \(rows())")
    }

    /// Adds what a request of the running transaction may write, in debug builds.
    func declare(_ rows: @autoclosure () -> Int) {
        assert(
            {
                declaredRows += rows()
                return true
            }())
    }

    /// Checks in debug builds that the last transaction has written no more rows than its requests and tasks declare, on a
    /// file as on a server. A transaction without a declaration is not checked.
    func checkTransaction() {
        assert(
            declaredRows == 0 || rowCounts.last <= declaredRows + Self.aroundRequests,
            "a transaction has written \(rowCounts.last) rows, and declares \(declaredRows)")
    }

    /// The rows of a transaction beside those of its requests: how far is published, and four for the cluster.
    static let aroundRequests = 5
}

extension BackgroundTask {
    /// How many rows a slice writes at most.
    var rows: Int {
        switch self {
        // The jobs, of the last person perhaps more; those that they supersede; how far it has come.
        case .broadcasts: (PushOutbox.expansionMax + CommandExecutor.devicesMax) * (1 + PushJobTable.cancelledMax) + 1
        // Of the last inbox as many notifications as entries; what is needless then, and the mark, of each inbox.
        case .readMarks:
            2 * CommandExecutor.readMarksSlice
                + CommandExecutor.readMarksSlice / CommandExecutor.readMarksLeast * (PushJobTable.cancelledMax + 2)
        case .erasures: Command.Action.erasureRows + CommandExecutor.searchedRows
        case .seals: CommandExecutor.resealMax
        case .takeover: PushOutbox.takeoverMax
        case .checkpoint: 0
        }
    }
}
