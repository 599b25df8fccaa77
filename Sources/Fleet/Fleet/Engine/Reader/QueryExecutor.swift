import Access
import Primitives
import Threads

/// Executes queries on a connection that only reads.
final class QueryExecutor {
    private let database: Database
    private let orders: OrderTable
    private let routes: RouteTable
    private let drivers: DriverTable
    private let accounts: AccountTable
    private let batches: BatchTable
    private let availability: AvailabilityTable
    private let notifications: NotificationTable
    private let inbox: InboxTable
    private let deliveries: ReceiptTable
    private let steps: NotificationStepTable
    private let pushes: PushJobTable
    private let devices: DeviceTable
    private let preferences: PreferenceTable
    private let recipients: RecipientTable
    /// A notification that no device has confirmed after this time counts as unconfirmed, in milliseconds.
    private let confirmTime: Int64
    /// The recipients of a notification for all drivers had subscribed at most so many milliseconds before it.
    private let backlog: Int64
    private let trips: TripRules

    init(_ database: Database, confirmSeconds: Int = 5, backlogHours: Int = 48, trips: TripRules = TripRules()) {
        self.database = database
        self.trips = trips
        backlog = Int64(backlogHours) * 3_600_000
        confirmTime = Int64(confirmSeconds) * 1_000
        recipients = RecipientTable(database: database)
        orders = OrderTable(database: database)
        routes = RouteTable(database: database)
        drivers = DriverTable(database: database)
        accounts = AccountTable(database: database)
        batches = BatchTable(database: database)
        availability = AvailabilityTable(database: database)
        notifications = NotificationTable(database: database)
        inbox = InboxTable(database: database)
        deliveries = ReceiptTable(database: database)
        steps = NotificationStepTable(database: database)
        pushes = PushJobTable(database: database)
        devices = DeviceTable(database: database)
        preferences = PreferenceTable(database: database)
    }

    /// The number of rows that queries have read.
    var readRows: Int64 { database.readRows }

    /// What has become of a query.
    enum Step {
        /// A failure if the query names an order, a route, a driver's card or a notification that does not exist.
        case done(Result<QueryResult, RuleError>)
        /// A list of which a part is done.
        case searching(NotificationSearch)
    }

    /// Executes a query to its end.
    /// - Parameter now: milliseconds since 1970.
    /// - Returns: as ``Step/done(_:)``.
    func execute(_ query: Query, now: Int64) throws(DatabaseError) -> Result<QueryResult, RuleError> {
        var step = try begin(query, now: now)
        while true {
            switch step {
            case .done(let result): return result
            case .searching(let search): step = try proceed(search)
            }
        }
    }

    /// Searches the next part of a list. What is committed between two parts may be missing in the list, as if it had been
    /// read before.
    func proceed(_ search: NotificationSearch) throws(DatabaseError) -> Step {
        var search = search
        return try notifications.search(&search) ? .done(.success(.notificationLog(search.found))) : .searching(search)
    }

    /// Executes a query, or the first part of a list.
    /// - Parameter now: milliseconds since 1970.
    func begin(_ query: Query, now: Int64) throws(DatabaseError) -> Step {
        if case .notificationLog(let listing, let before, let limit) = query {
            let filter = listing.filter(now: now, confirmTime: confirmTime)
            guard let position = try position(before, on: filter.channel) else {
                return .done(.failure(RuleError(.unknownPosition)))
            }
            var search = NotificationSearch(filter, before: position, limit: Self.clamped(limit), now: now)
            if let code = listing.orderCode {
                guard let order = try orders.order(code: code) else { return .done(.failure(RuleError(.unknownOrder, code))) }
                search.next = .order(NotificationSearch.OrderPlace(order, before: position.id))
            }
            return try proceed(search)
        }
        return .done(try read(query, now: now))
    }

    private func read(_ query: Query, now: Int64) throws(DatabaseError) -> Result<QueryResult, RuleError> {
        // One snapshot of all tables: a result must not mix the states before and after a concurrent commit.
        try database.transaction(.reading) { () throws(DatabaseError) in
            switch query {
            case .order(let code): try order(code)
            case .route(let id): try route(id)
            case .driver(let id): try driver(id)
            case .trip(let reference, let person): try trip(reference, person, now)
            case .jobs(let driverID): .success(.jobs(try jobs(driverID)))
            case .notifications(let person, let before, let limit):
                try inboxPage(person, before, limit).map(QueryResult.notifications)
            case .notificationHistory(let id): try notificationHistory(id, now)
            case .notificationLog: preconditionFailure("a list is searched in parts")
            case .notificationRecipients(let id): try recipients(of: id)
            case .deliveryFigures: .success(.deliveryFigures(try figures(now: now)))
            case .devices(let person): .success(.devices(try devices(person)))
            case .preferences(let person): .success(.preferences(try preferences(person)))
            case .account(let query): try account(query).map(QueryResult.account)
            case .batch(let query, let person): try BatchReader(batches, accounts).execute(query, by: person)
            case .availability(let person): try availability(of: person)
            }
        }
    }

    // MARK: Jobs

    private func order(_ code: String) throws(DatabaseError) -> Result<QueryResult, RuleError> {
        guard let order = try orders.order(code: code) else { return .failure(RuleError(.unknownOrder, code)) }
        return .success(.order(order))
    }

    private func route(_ id: String) throws(DatabaseError) -> Result<QueryResult, RuleError> {
        guard let route = try routes.route(id: id) else { return .failure(RuleError(.unknownRoute, id)) }
        return .success(.route(route))
    }

    private func driver(_ name: String) throws(DatabaseError) -> Result<QueryResult, RuleError> {
        let id = try accounts.channelID(ofDriver: name)
        guard let card = try drivers.card(ofDriver: id) else { return .failure(RuleError(.unknownDriver, id)) }
        return .success(.driver(card))
    }

    /// A trip that is not followed: those that are, are in memory. Its driver's position is not kept.
    private func trip(
        _ reference: String, _ person: Identity, _ now: Int64
    ) throws(DatabaseError) -> Result<QueryResult, RuleError> {
        guard let order = try orders.newest(reference: reference) else { return .failure(RuleError(.unknownTrip)) }
        let driver = order.assignment.driver
        let card = try driver.flatMap { driver throws(DatabaseError) in
            try drivers.shownCard(ofDriver: driver.id.text, accounts)
        }
        return TripView(order, card: card, now: now, trips).answer(to: person).map(QueryResult.trip)
    }

    private func jobs(_ driverID: String) throws(DatabaseError) -> [OpenJob] {
        let openOrders = try orders.open(driverID: driverID).map { (OpenJob.order($0.order), $0.createdAt) }
        let openRoutes = try routes.open(driverID: driverID).map { (OpenJob.route($0.route), $0.createdAt) }
        // The sort is stable: of jobs created in the same millisecond, orders come before routes.
        return (openOrders + openRoutes).sorted { $0.1 < $1.1 }.map(\.0)
    }

    // MARK: Accounts

    private func account(_ query: AccountQuery) throws(DatabaseError) -> Result<AccountResult, RuleError> {
        switch query {
        case .own(let caller):
            guard let account = try accounts.account(uid: caller.uid) else { return .failure(RuleError(.unknownAccount)) }
            return .success(.own(account, maskedTokens: try devices.maskedFCMTokens(ofDriver: account.personID)))
        case .one(let id):
            return try accounts.account(ofDriver: id).map { .success(.one($0)) } ?? .failure(RuleError(.unknownAccount))
        case .list(let status, let before, let limit):
            var last: Account?
            if let before {
                last = try ObjectID(before).flatMap { id throws(DatabaseError) in try accounts.account(id: id) }
                guard last != nil else { return .failure(RuleError(.unknownPageStart)) }
            }
            return .success(.list(try accounts.newest(status, before: last, limit: Self.clamped(limit))))
        }
    }

    private func availability(of person: Identity) throws(DatabaseError) -> Result<QueryResult, RuleError> {
        switch try accounts.approvedAccount(of: person) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let account):
            return .success(.availability(AvailabilityState(try availability.availability(of: account))))
        }
    }

    // MARK: Notifications

    /// The most notifications in one response.
    private static let pageMax = 200

    /// A page of a person's notifications, newest first: those on the person's own channel, and a customer's inbox
    /// entries, which are on other channels. A driver's are without what concerns customers of former jobs.
    /// - Parameter before: as for ``page(_:_:_:)``.
    private func inboxPage(
        _ person: Identity, _ before: String?, _ limit: Int
    ) throws(DatabaseError) -> Result<[LoggedNotification], RuleError> {
        guard person.role == .customer else {
            let result = try page(person.channel, before, limit)
            guard person.role == .driver, case .success(let page) = result else { return result }
            return .success(try FormerJobs(orders: orders).withheld(from: page, to: person))
        }
        let limit = Self.clamped(limit)
        let own: [LoggedNotification]
        if let before, let sequence = try inbox.afterSequence(of: before, for: person.key) {
            own = try notifications.newest(channel: person.channel, before: sequence + 1, limit: limit)
        } else {
            switch try page(person.channel, before, limit) {
            case .success(let page): own = page
            case .failure(let error): return .failure(error)
            }
        }
        let entries = try inbox.newest(for: person.key, before: before, limit: limit)
        // Ids begin with the time, and increase in commit order.
        let all = (own + entries).sorted { $0.notification.id > $1.notification.id }
        return .success(Array(all.prefix(limit)))
    }

    /// A page of a person's own channel, newest first.
    /// - Parameter before: the page contains only notifications older than the one with this id; nil to start with the
    ///   newest.
    private func page(
        _ channel: String, _ before: String?, _ limit: Int
    ) throws(DatabaseError) -> Result<[LoggedNotification], RuleError> {
        guard let position = try position(before, on: channel) else { return .failure(RuleError(.unknownPosition)) }
        return .success(try notifications.newest(channel: channel, before: position.sequence, limit: Self.clamped(limit)))
    }

    private static func clamped(_ limit: Int) -> Int { min(max(limit, 1), pageMax) }

    /// The position of the notification with the id `before`, behind the newest if that is nil. One that has been deleted
    /// meanwhile counts as its time, which its id begins with: a list that a person scrolls through does not end with an
    /// error. Nil if there is no such id, or the notification is on another channel.
    private func position(_ before: String?, on channel: String?) throws(DatabaseError) -> NotificationTable.Position? {
        guard let before else { return .end }
        if let last = try notifications.notification(id: before) {
            guard channel.map({ last.notification.channel.hasSameBytes(as: $0) }) ?? true else { return nil }
            return NotificationTable.Position(id: before, sequence: last.sequence)
        }
        guard ULID.isWellFormed(before) else { return nil }
        let sequence = try channel.map { channel throws(DatabaseError) in
            try notifications.sequence(of: channel, before: before).map { $0 + 1 } ?? 0
        }
        return NotificationTable.Position(id: before, sequence: sequence ?? .max)
    }

    /// The most push jobs, and the most devices to which the notification was written, in a history. A broadcast to all
    /// drivers may have more; the history omits the others.
    private static let summariesMax = 1_000

    private func notificationHistory(_ id: String, _ now: Int64) throws(DatabaseError) -> Result<QueryResult, RuleError> {
        guard let report = try notifications.report(id: id, now: now) else {
            let steps = try self.steps.steps(of: id)
            guard !steps.isEmpty else { return .failure(RuleError(.unknownNotification, id)) }
            return .success(.notificationHistory(nil, steps))
        }
        let logged = report.logged
        var steps = [NotificationStep("created", of: id, at: logged.notification.createdAt)]
        steps += try deliveries.steps(of: logged, most: Self.summariesMax)
        // Push steps are added before telemetry, and the sort below is stable: within one millisecond, the end of a
        // push precedes the telemetry of its device.
        for summary in try pushes.summaries(ofNotification: id, most: Self.summariesMax) { steps += summary.steps(of: id) }
        steps += try self.steps.steps(of: id)
        if let readAt = logged.readAt { steps.append(NotificationStep("read", of: id, at: readAt)) }
        steps += try inbox.readSteps(of: id)
        steps.sort { $0.at < $1.at }
        return .success(.notificationHistory(report, steps))
    }

    private func recipients(of id: String) throws(DatabaseError) -> Result<QueryResult, RuleError> {
        guard let logged = try notifications.notification(id: id) else {
            return .failure(RuleError(.unknownNotification, id))
        }
        guard logged.notification.isForEveryDriver else {
            return .failure(RuleError(.hasOwnSteps, id))
        }
        return .success(.notificationRecipients(try recipients.recipients(of: logged, backlog: backlog)))
    }

    // MARK: Figures

    /// The figures cover so many milliseconds.
    private static let figuresTime: Int64 = 3_600_000

    /// The most notifications in one slice of a count; it takes about a millisecond.
    private static let figuresSlice = 500

    private func figures(now: Int64) throws(DatabaseError) -> ReceiptFigures {
        var count = figuresCount(now: now)
        while true { if let figures = try countFigures(&count, now: now) { return figures } }
    }

    /// Begins to count the figures, for ``countFigures(_:now:)``.
    func figuresCount(now: Int64) -> NotificationTable.FiguresCount { .init(createdAfter: now - Self.figuresTime) }

    /// Counts the next slice.
    /// - Returns: the figures after the last slice; nil before it.
    func countFigures(
        _ count: inout NotificationTable.FiguresCount, now: Int64
    ) throws(DatabaseError) -> ReceiptFigures? {
        guard var figures = try notifications.count(&count, most: Self.figuresSlice) else { return nil }
        figures.unconfirmed = try countUnconfirmed(now: now)
        return figures
    }

    private func countUnconfirmed(now: Int64) throws(DatabaseError) -> Int {
        try notifications.unconfirmedCount(createdAfter: now - Self.figuresTime, until: now - confirmTime, now: now)
    }

    /// The number of unconfirmed notifications of the last hour.
    func unconfirmedCount(now: Int64) throws(DatabaseError) -> Int {
        try database.transaction(.reading) { () throws(DatabaseError) in try countUnconfirmed(now: now) }
    }

    // MARK: Expiry

    /// Counts the notifications that expired after `start`, up to and including `end`, without a sign of the recipient.
    func expired(after start: Int64, upTo end: Int64) throws(DatabaseError) -> NotificationCounts {
        try database.transaction(.reading) { () throws(DatabaseError) in
            var counts = NotificationCounts()
            for (event, count) in try notifications.expired(after: start, upTo: end) {
                counts.add(.expired, of: event, count: count)
            }
            for (event, count) in try inbox.expired(after: start, upTo: end) {
                counts.add(.expired, of: event, count: count)
            }
            return counts
        }
    }

    /// The unsent jobs of each lane.
    func pushQueues() throws(DatabaseError) -> [PushLane: PushQueue] {
        try database.transaction(.reading) { () throws(DatabaseError) in
            var queues: [PushLane: PushQueue] = [:]
            for lane in PushLane.allCases { queues[lane] = try pushes.unsent(lane) }
            return queues
        }
    }

    // MARK: Devices

    private func devices(_ person: Identity) throws(DatabaseError) -> [StoredDevice] {
        try devices.devices(of: person.key).sorted { ($0.registeredAt, $0.id) < ($1.registeredAt, $1.id) }
    }

    /// The stored preferences; the defaults if none are stored or they cannot be read.
    private func preferences(_ person: Identity) throws(DatabaseError) -> Preferences {
        try preferences.json(of: person.key).flatMap { Preferences(json: $0) } ?? Preferences()
    }
}
