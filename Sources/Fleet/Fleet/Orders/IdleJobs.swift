import Primitives

/// A place in the list of open orders or routes, those that were changed longest ago first.
package struct IdlePosition: Equatable, Sendable {
    /// When the order or route was changed last, in milliseconds since 1970.
    let changedAt: Int64
    /// The order's code, or the route's id.
    let id: String

    static let start = IdlePosition(changedAt: .min, id: "")
}

/// Finds open orders and routes on which nobody has acted for `fleet.open_days`: a backend that forgets to end them would
/// let them grow for ever, in the database and in memory. The gateway cancels them, a few a second: dispatchers, those who
/// follow, and the driver who has the job get the events, the other drivers get none (``OrderTransition/aged(driver:reason:)``),
/// and no phone rings.
///
/// An order that is scheduled for later, or was less long ago, is left open.
struct IdleJobs {
    /// The most orders, and the most routes, that a look reads.
    static let most = 20
    /// The most rows that the commands of a look write for orders, and for routes: very many may be due, and what people do has
    /// the writer's time. The notifications are stored, and those for dispatchers and drivers are delivered, too.
    static let rowsMax = 250

    /// `fleet.open_days`; 0: nothing is due.
    private let days: Int
    private var orders: IdlePosition? = .start
    private var routes: IdlePosition? = .start
    /// When to look next, in monotonic milliseconds.
    private var lookAt: Int64 = .min

    init(days: Int) { self.days = days }

    /// The commands that end the next ones.
    /// - Parameters:
    ///   - now: the trusted time, in milliseconds since 1970.
    ///   - monotonic: milliseconds.
    mutating func next(_ executor: CommandExecutor, now: Int64, monotonic: Int64) throws(DatabaseError) -> [IssuedCommand] {
        guard days > 0, monotonic >= lookAt else { return [] }
        if orders == nil, routes == nil { (orders, routes) = (.start, .start) }
        let cutoff = now - Int64(days) * 86_400_000
        var commands: [IssuedCommand] = []
        if let position = orders {
            let page = try executor.orders.idle(after: position, most: Self.most).map { (position: $0.position, job: $0.order) }
            orders = add(page, changedBefore: cutoff, to: &commands) { $0.isScheduled(after: cutoff) ? nil : end($0) }
        }
        if let position = routes {
            let page = try executor.routes.idle(after: position, most: Self.most).map { (position: $0.position, job: $0.route) }
            routes = add(page, changedBefore: cutoff, to: &commands, end)
        }
        lookAt = monotonic + (orders == nil && routes == nil ? Timing.roundInterval : Timing.idleJobsInterval)
        return commands
    }

    /// Adds the commands that end the jobs of a page, as many as ``rowsMax`` permits.
    /// - Returns: where the next look goes on; nil: no further job is old enough.
    private func add<Job>(
        _ page: [(position: IdlePosition, job: Job)], changedBefore cutoff: Int64, to commands: inout [IssuedCommand],
        _ end: (Job) -> IssuedCommand?
    ) -> IdlePosition? {
        var (last, rows): (IdlePosition?, Int) = (nil, 0)
        for (position, job) in page {
            guard position.changedAt < cutoff else { return nil }
            if let command = end(job) {
                rows += command.rows
                guard rows <= Self.rowsMax else { return last }
                commands.append(command)
            }
            last = position
        }
        return page.count == Self.most ? last : nil
    }

    private func end(_ order: Order) -> IssuedCommand {
        var action = OrderAction(code: order.code, .cancel)
        (action.isForAge, action.reason) = (true, reason)
        return IssuedCommand(ofGateway: action, expectedVersions: [order.assignment.version])
    }

    private func end(_ route: Route) -> IssuedCommand {
        var action = RouteAction(id: route.id, .cancel)
        (action.isForAge, action.reason) = (true, reason)
        return IssuedCommand(ofGateway: action, expectedVersions: [route.assignment.version])
    }

    private var reason: String { "Ended by the gateway: nobody has acted on it for \(days) days" }
}

extension Order {
    fileprivate func isScheduled(after time: Int64) -> Bool {
        scheduledAt.flatMap { Timestamp.milliseconds(iso8601: $0) }.map { $0 >= time } ?? false
    }
}
