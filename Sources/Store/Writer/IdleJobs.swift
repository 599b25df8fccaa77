import FleetRules
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
/// let them grow for ever, in the database and in memory. The gateway cancels them as a dispatcher would, a few a second:
/// drivers, dispatchers and those who follow get the events, but no phone rings.
///
/// An order that is scheduled for later, or was less long ago, is left open.
struct IdleJobs {
    /// The most orders, and the most routes, of one look.
    static let most = 20
    /// Milliseconds between two rounds.
    private static let roundInterval: Int64 = 600_000

    /// `fleet.open_days`
    private let days: Int
    private var orders: IdlePosition? = .start
    private var routes: IdlePosition? = .start
    /// When the next round begins, in monotonic milliseconds.
    private var roundAt: Int64 = 0

    init(days: Int) { self.days = days }

    /// The commands that end the next ones. Looks at ``most`` orders and routes at most.
    /// - Parameters:
    ///   - now: the trusted time, in milliseconds since 1970.
    ///   - monotonic: milliseconds.
    mutating func next(_ executor: CommandExecutor, now: Int64, monotonic: Int64) throws(DatabaseError) -> [Command] {
        if orders == nil, routes == nil {
            guard monotonic >= roundAt else { return [] }
            (orders, routes) = (.start, .start)
        }
        let cutoff = now - Int64(days) * 86_400_000
        var commands: [Command] = []
        if let position = orders {
            let page = try executor.orders.idle(after: position, most: Self.most).prefix { $0.position.changedAt < cutoff }
            commands += page.map(\.order).filter { !$0.isScheduled(after: cutoff) }.map(end)
            orders = page.count == Self.most ? page.last?.position : nil
        }
        if let position = routes {
            let page = try executor.routes.idle(after: position, most: Self.most).prefix { $0.position.changedAt < cutoff }
            commands += page.map(\.route).map(end)
            routes = page.count == Self.most ? page.last?.position : nil
        }
        roundAt = monotonic + Self.roundInterval
        return commands
    }

    private func end(_ order: Order) -> Command {
        var action = OrderAction(code: order.code, .cancel)
        (action.isSilent, action.reason) = (true, reason)
        return Command(ofGateway: .order(action), expectedVersion: order.assignment.version)
    }

    private func end(_ route: Route) -> Command {
        var action = RouteAction(id: route.id, .cancel)
        (action.isSilent, action.reason) = (true, reason)
        return Command(ofGateway: .route(action), expectedVersion: route.assignment.version)
    }

    private var reason: String { "Nobody has acted on it for \(days) days" }
}

extension Order {
    fileprivate func isScheduled(after time: Int64) -> Bool {
        scheduledAt.flatMap { Timestamp.milliseconds(iso8601: $0) }.map { $0 >= time } ?? false
    }
}
