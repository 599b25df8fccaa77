import Access
import FleetRules
import JSON
import Threads

/// Answers enquiries, from a connection that only reads.
final class QueryExecutor {
    private let database: Database
    private let orders: OrderTable
    private let routes: RouteTable
    private let notifications: NotificationTable
    private let steps: NotificationStepTable
    private let pushes: PushJobTable
    let devices: DeviceTable
    let preferences: PreferenceTable

    init(_ database: Database) {
        self.database = database
        orders = OrderTable(database: database)
        routes = RouteTable(database: database)
        notifications = NotificationTable(database: database)
        steps = NotificationStepTable(database: database)
        pushes = PushJobTable(database: database)
        devices = DeviceTable(database: database)
        preferences = PreferenceTable(database: database)
    }

    /// The body of the answer, in the envelope of those who ask such things.
    func execute(_ query: Query) throws(DatabaseError) -> Result<[UInt8], RuleError> {
        // One view of all tables: a commit in between must not show.
        try database.transaction(.reading) { () throws(DatabaseError) in
            switch query {
            case .order(let code): try order(code)
            case .route(let id): try route(id)
            case .jobs(let driverID): .success(try jobs(driverID))
            case .notifications(let owner, let before, let limit): try mailbox(owner, before, limit)
            case .notificationHistory(let id): try notificationHistory(id)
            case .notificationLog(let channel, let before, let limit): try notificationLog(channel, before, limit)
            case .devices(let person): .success(try devices(person))
            case .preferences(let person): .success(try preferences(person))
            }
        }
    }

    // MARK: Jobs

    private func order(_ code: String) throws(DatabaseError) -> Result<[UInt8], RuleError> {
        guard let order = try orders.order(code: code) else { return .failure(RuleError(.unknown, "Order \(code) not found")) }
        var body = JSONWriter()
        body.raw(#"{"success":true,"data":{"order":"#)
        order.write(to: &body)
        body.raw("}}")
        return .success(body.bytes)
    }

    private func route(_ id: String) throws(DatabaseError) -> Result<[UInt8], RuleError> {
        guard let route = try routes.route(id: id) else { return .failure(RuleError(.unknown, "Route \(id) not found")) }
        var body = JSONWriter()
        body.raw(#"{"success":true,"data":{"route":"#)
        route.write(to: &body)
        body.raw("}}")
        return .success(body.bytes)
    }

    private func jobs(_ driverID: String) throws(DatabaseError) -> [UInt8] {
        var jobs: [(createdAt: Int64, json: [UInt8])] = []
        for (order, createdAt) in try orders.open(driverID: driverID) {
            var job = JSONWriter()
            order.write(to: &job)
            jobs.append((createdAt, Self.parsed(#"{"type":"order","#, job.bytes)))
        }
        for (route, createdAt) in try routes.open(driverID: driverID) {
            var job = JSONWriter()
            route.write(to: &job)
            jobs.append((createdAt, Self.parsed(#"{"type":"route","#, job.bytes)))
        }
        jobs.sort { $0.createdAt < $1.createdAt }  // stable
        var body = JSONWriter()
        body.raw(#"{"success":true,"data":{"jobs":["#)
        body.list(jobs) { $0.raw($1.json) }
        body.raw("]}}")
        return body.bytes
    }

    /// An object with one more member at its front.
    private static func parsed(_ opening: StaticString, _ object: [UInt8]) -> [UInt8] {
        var writer = JSONWriter(capacity: object.count + 20)
        writer.raw(opening)
        writer.raw(Array(object.dropFirst()))
        return writer.bytes
    }

    // MARK: Notifications

    /// As many as anybody gets at once.
    private static let limitMax = 200

    private func mailbox(_ owner: Identity, _ before: String?, _ limit: Int) throws(DatabaseError) -> Result<[UInt8], RuleError> {
        switch try page(owner.channel, before, limit) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let page):
            var body = JSONWriter(capacity: 64 + 512 * page.count)
            body.raw(#"{"success":true,"data":{"notifications":["#)
            body.list(page) { $1.write(to: &$0) }
            body.raw("]}}")
            return .success(body.bytes)
        }
    }

    private func notificationLog(_ channel: String?, _ before: String?, _ limit: Int) throws(DatabaseError) -> Result<
        [UInt8], RuleError
    > {
        switch try page(channel, before, limit) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let page):
            var body = JSONWriter(capacity: 64 + 512 * page.count)
            body.raw(#"{"notifications":["#)
            body.list(page) { $1.writeWhole(to: &$0) }
            body.raw("]}")
            return .success(body.bytes)
        }
    }

    private func page(
        _ channel: String?, _ before: String?, _ limit: Int
    ) throws(DatabaseError) -> Result<[LoggedNotification], RuleError> {
        var last: LoggedNotification?
        if let before {
            last = try notifications.notification(id: before)
            guard let last, channel == nil || last.notification.channel == channel else {
                return .failure(RuleError(.invalid, "before: no such notification"))
            }
        }
        let limit = min(max(limit, 1), Self.limitMax)
        if let channel {
            return .success(try notifications.newest(channel: channel, before: last?.sequence, limit: limit))
        }
        return .success(try notifications.newest(before: last?.notification.id, limit: limit))
    }

    /// Push jobs that a life tells of; what was for every driver may have more.
    private static let summariesMax = 1_000

    private func notificationHistory(_ id: String) throws(DatabaseError) -> Result<[UInt8], RuleError> {
        guard let logged = try notifications.notification(id: id) else {
            return .failure(RuleError(.unknown, "Notification \(id) not found"))
        }
        var steps = [NotificationStep.ours("created", of: id, at: logged.notification.createdAt)]
        // Within a millisecond, the end of a push precedes the telemetry of its device.
        for account in try pushes.summaries(ofNotification: id, most: Self.summariesMax) { steps += account.steps(of: id) }
        steps += try self.steps.steps(of: id)
        if let readAt = logged.readAt { steps.append(.ours("read", of: id, at: readAt)) }
        steps.sort { $0.at < $1.at }  // stable
        var body = JSONWriter(capacity: 1024)
        body.raw(#"{"notification":"#)
        logged.writeWhole(to: &body)
        body.raw(#","steps":["#)
        body.list(steps) { $1.write(to: &$0) }
        body.raw("]}")
        return .success(body.bytes)
    }
}
