import FleetRules

extension StoreWriter.Request {
    /// The limit of the rows that one transaction writes, as estimated by ``rows``; a single request may exceed it. An
    /// announcement may notify a thousand drivers, and a command must not wait until hundreds of announcements are
    /// committed.
    private static let rowsMax = 2_000

    /// Splits a batch into transactions. The requests keep their order.
    static func transactions(of batch: [Self]) -> [[Self]] {
        var parts: [[Self]] = [[]]
        var rows = 0
        for request in batch {
            let own = request.rows
            if rows + own > rowsMax, rows > 0 {
                parts.append([])
                rows = 0
            }
            parts[parts.count - 1].append(request)
            rows += own
        }
        return parts
    }

    /// The id in the operator's log: the command's correlation id, or `push-` and the lane of a report.
    var correlationID: String {
        switch self {
        case .command(let request): request.command.correlationID
        case .report(let report): "push-\(report.lane.rawValue)"
        }
    }

    /// The approximate number of rows that the request writes.
    private var rows: Int {
        switch self {
        case .command(let request): request.command.action.rows
        case .report(let report): report.outcomes.count + report.capacity
        }
    }
}

extension Command.Action {
    fileprivate var rows: Int {
        switch self {
        case .announce(let announcement):
            if case .drivers(let drivers) = announcement.audience { drivers.count } else { 1 }
        case .telemetry(let events): events.count
        case .order, .route, .acceptJob, .acceptRoute, .progress, .markRead, .updatePreferences: 5
        case .device: 20
        case .erase: 500
        }
    }
}
