/// The order in which requests leave the writer's queue, and their shares of it.
///
/// Each transaction takes requests of every priority, up to its ``rowsMax``: dispatchers do not wait for many
/// telemetry events, and the telemetry events do not wait forever. Requests of one priority keep their order.
package enum RequestPriority: Int, CaseIterable {
    /// The commands of dispatchers, and the reports of push lanes.
    case dispatch
    /// What loops tell and ask about deliveries: receipts and subscriptions. They share one priority, because a
    /// subscription must see the receipts that were posted before it.
    case delivery
    /// What drivers do with their jobs: accept and report progress.
    case jobs
    /// What people report and set for themselves: telemetry, read marks, devices, preferences, sign-in by code.
    case personal
    /// What dispatchers do for very many people at once: announcements to more than ``CommandExecutor/pushesMax``, and
    /// erasures.
    case bulk

    /// The most rows that one transaction writes for requests of this priority, by what they declare
    /// (``StoreWriter/Request/rows``); a single request may exceed it. A command declares the worst case, such as twenty
    /// devices of each person and fifty customers of a booking, and writes a tenth of it or less usually. An announcement may notify a thousand drivers, and a
    /// command must not wait until hundreds of announcements are committed.
    var rowsMax: Int {
        switch self {
        case .dispatch, .jobs: 20_000
        case .delivery: 4_000
        case .personal: 2_500
        case .bulk: 1_000
        }
    }

    /// The number of waiting commands at which the queue is full for this priority. The rest of the queue is reserved
    /// for higher priorities.
    /// - Parameter countMax: the most commands that may wait.
    func countMax(of countMax: Int) -> Int {
        switch self {
        case .dispatch: countMax
        case .delivery, .jobs, .bulk: countMax - countMax / 4
        case .personal: countMax - countMax / 2
        }
    }
}

extension StoreWriter.Request {
    var priority: RequestPriority {
        switch self {
        case .command(let request): request.issued.command.priority
        case .report, .look: .dispatch
        case .receipts, .subscription: .delivery
        }
    }

    /// The id in the operator's log: the command's correlation id, or `push-` and the lane of a report, or a name.
    var correlationID: String {
        switch self {
        case .command(let request): request.issued.correlationID
        case .report(let report): "push-\(report.lane.rawValue)"
        case .receipts: "receipts"
        case .subscription(let request): "subscription-\(request.key.channel)"
        case .look: "look"
        }
    }
}
