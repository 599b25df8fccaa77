import Access

/// How many rows a request writes at most. Debug builds check it: see ``CommandExecutor/checkRows(since:_:_:)``. Background
/// tasks declare what a slice writes at most (``BackgroundTask/rows``).
///
/// A row counts each time it is inserted, updated or deleted, as SQLite and PostgreSQL count them; entries of indexes do
/// not count. What may be more has a limit of its own: the rest waits for a background task or for its turn.
extension StoreWriter.Request {
    var rows: Int {
        switch self {
        case .command(let request): request.issued.rows
        case .report(let report): report.rows
        case .receipts(let receipts): receipts.reduce(0) { $0 + $1.rows }
        // The cursor, and what makes room for it.
        case .subscription: 3
        case .look: 0
        }
    }
}

/// What commands are made of.
enum RowBound {
    /// A notification: its own row, and twice that of its channel's number.
    static let notification = 3
    /// The audit entry, and what the action changes: an order, route, card or account, and a driver's position or switch.
    static let change = 5
    /// A push for a person: a job on each device, the jobs that these supersede, and an entry of the inbox, which is
    /// counted as unread.
    static let push = DeviceRegistration.devicesMax + PushJobTable.cancelledMax + 3
    /// A push for the customers of a booking: the jobs on their devices, those that these supersede, and the inboxes.
    static let bookingPush = PushOutbox.bookingDevicesMax + PushOutbox.bookingCancelledMax + 3 * DeviceBookingTable.ownersMax
    /// A stored response, and those that make room for it.
    static let response = 1 + CommandExecutor.evictedTogether
    /// The bookings of a customer that are replaced or removed.
    static let bookings = 2 * (DeviceBookingTable.bookingsMax + 1)
    /// A device that goes, with its jobs.
    static let device = 1 + PushJobTable.deviceCancelledMax
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
        return 4 * outcomes.count + removals * (RowBound.device + RowBound.bookings) + moved * (1 + PushJobTable.movedMax)
            + PushOutbox.changedJobsMax * 3 + 2 * capacity + (isFirst ? PushOutbox.takeoverMax : 0)
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
        case .broadcasts: (PushOutbox.expansionMax + DeviceRegistration.devicesMax) * (1 + PushJobTable.cancelledMax) + 1
        // Of the last inbox as many notifications as entries; what is needless then, and the mark, of each inbox.
        case .readMarks:
            2 * CommandExecutor.readMarksSlice
                + CommandExecutor.readMarksSlice / CommandExecutor.readMarksLeast * (PushJobTable.cancelledMax + 2)
        case .erasures: Erase.rowsMax + CommandExecutor.searchedRows
        case .seals: CommandExecutor.resealMax
        case .takeover: PushOutbox.takeoverMax
        case .checkpoint: 0
        }
    }
}
