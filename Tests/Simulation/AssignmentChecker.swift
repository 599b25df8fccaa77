import FanOut
import FleetRules
import PusherProtocol

/// Who has lost which job, from the inputs alone. What follows from it is a promise, not a procedure: nobody is on a
/// channel of a job that he has just lost, and nobody who is known to have lost one gets onto its channels.
struct AssignmentChecker {
    /// A driver, and a reference that was his.
    private struct Loss: Hashable {
        let app: AppIndex
        let driverID: String
        let reference: String
    }

    private struct Order: Hashable {
        let app: AppIndex
        let code: String
    }

    private var holders: [Order: Loss] = [:]
    private var losses: Set<Loss> = []

    /// Notes `input`, whose `effects` the model has seen, and checks what must be true after it.
    mutating func check(after input: Hub.Input, _ effects: [Hub.Effect], _ model: ReferenceModel) throws(Discrepancy) {
        switch input {
        case .assignment(let holding, let app):
            guard let loss = note(holding, app) else { return }
            for (socket, connection) in model.connections where connection.app == app {
                for channel in model.channels(of: socket) where channel.text.hasSuffix("-" + loss.reference) {
                    try check(socket, channel, loss, model)
                }
            }
        case .subscribe(let socket, let grant):
            guard effects.contains(where: { if case .join = $0.instruction { true } else { false } }),
                model.identified.contains(where: { $0.socket == socket })
            else { return }
            for loss in losses where grant.channel.text.hasSuffix("-" + loss.reference) {
                try check(socket, grant.channel, loss, model)
            }
        default: break
        }
    }

    /// Returns what a driver has lost by it.
    private mutating func note(_ holding: Hub.JobAssignment, _ app: AppIndex) -> Loss? {
        let before = holders.removeValue(forKey: Order(app: app, code: holding.code))
        if let id = holding.driverID {
            let held = Loss(app: app, driverID: id, reference: holding.reference)
            holders[Order(app: app, code: holding.code)] = held
            losses.remove(held)
        }
        guard let before, !holders.values.contains(before) else { return nil }
        losses.insert(before)
        return before
    }

    /// Only one who is nobody but that driver has certainly no other right.
    private func check(
        _ socket: SocketID, _ channel: ChannelName, _ loss: Loss, _ model: ReferenceModel
    ) throws(Discrepancy) {
        let keys = Set(model.identities(of: socket).map(\.key))
        let isJobs = channel.text.contains("tracking-") || channel.text.contains("booking-")
        let place = ReferenceModel.ChannelKey(app: loss.app, channel: channel)
        guard isJobs, model.isJobs(place), model.connections[socket]?.app == loss.app, keys == ["driver:\(loss.driverID)"] else {
            return
        }
        throw Discrepancy("driver \(loss.driverID) is on \(channel.text) over \(socket), and has lost the job")
    }
}
