import Access
import FanOut
import PusherProtocol

/// Checks two promises about drivers who lost a job: they are no longer subscribed to the job's channels, and they
/// cannot subscribe to them again. It works out which driver lost which job from the inputs, not from the model.
struct AssignmentChecker {
    /// A driver and the reference of the driver's job.
    private struct Assignment: Hashable {
        let app: AppIndex
        let driverID: String
        let reference: String
    }

    private struct Order: Hashable {
        let app: AppIndex
        let code: String
    }

    private var assignments: [Order: Assignment] = [:]
    /// The assignments that have ended and have not begun again.
    private var losses: Set<Assignment> = []

    /// Checks the promises after an input; records the input first if it is an assignment. Call it after the model has
    /// applied the input.
    mutating func check(after input: SimulatedInput, _ effects: [Hub.Effect], _ model: ReferenceModel) throws(Discrepancy) {
        switch input {
        case .fleet(.assignment(let assignment, let app)):
            guard let loss = record(assignment, app) else { return }
            for (socket, connection) in model.connections where connection.app == app {
                for channel in model.channels(of: socket) where channel.text.hasSuffix("-" + loss.reference) {
                    try check(socket, channel, loss, model)
                }
            }
        case .hub(.subscribe(let socket, let grant)):
            guard effects.contains(where: { if case .join = $0.instruction { true } else { false } }),
                model.identified.contains(where: { $0.socket == socket })
            else { return }
            for loss in losses where grant.channel.text.hasSuffix("-" + loss.reference) {
                try check(socket, grant.channel, loss, model)
            }
        default: break
        }
    }

    /// Records an assignment.
    /// - Returns: the order's previous assignment if its driver lost the job; nil if there was none, or if that driver
    ///   still has a job with the same reference (this order or another).
    private mutating func record(_ assignment: FleetAccess.JobAssignment, _ app: AppIndex) -> Assignment? {
        let before = assignments.removeValue(forKey: Order(app: app, code: assignment.orderCode))
        if let id = assignment.driverID {
            let new = Assignment(app: app, driverID: id, reference: assignment.reference)
            assignments[Order(app: app, code: assignment.orderCode)] = new
            losses.remove(new)
        }
        guard let before, !assignments.values.contains(before) else { return nil }
        losses.insert(before)
        return before
    }

    /// Throws if the channel is one of the lost job's, and the connection's sole identity is the driver who lost it.
    /// Other identities of a connection may permit the subscription.
    private func check(
        _ socket: SocketID, _ channel: ChannelName, _ loss: Assignment, _ model: ReferenceModel
    ) throws(Discrepancy) {
        let keys = Set(model.identities(of: socket).map(\.key))
        let isJobChannel = channel.text.contains("tracking-") || channel.text.contains("booking-")
        let key = ReferenceModel.ChannelKey(app: loss.app, channel: channel)
        guard isJobChannel, model.isJobChannel(key), model.connections[socket]?.app == loss.app,
            keys == ["driver:\(loss.driverID)"]
        else {
            return
        }
        throw Discrepancy("driver \(loss.driverID) is subscribed to \(channel.text) on \(socket), but has lost the job")
    }
}
