import Access
import PusherProtocol

/// Ending subscriptions when a driver loses a job.
extension Hub {
    /// The reason given when a driver's job was reassigned or unassigned, changed its reference, or ended.
    static let jobLost = "the job is no longer assigned to you"

    /// Records a job's driver. If a driver lost the job, ends their subscriptions to its channels, unless another
    /// identity of the connection permits them.
    mutating func record(_ assignment: JobAssignment, _ app: AppIndex, _ effects: inout [Effect]) {
        guard
            let lost = apps[app].jobs.set(
                assignment.orderCode, reference: assignment.reference, driverID: assignment.driverID)
        else { return }
        let key = Identity(role: .driver, id: lost.driverID).key
        for socket in apps[app].users.connections(of: key) + (apps[app].socketsByIdentity[key] ?? []) {
            endSubscriptions(of: socket, because: Self.jobLost, &effects) { $0 == lost.reference }
        }
    }

    /// Ends a connection's subscriptions to channels of lost jobs, unless one of its identities still permits them.
    mutating func endSubscriptions(
        of socket: SocketID, because reason: String, _ effects: inout [Effect], where isLost: (_ reference: String) -> Bool
    ) {
        guard let policy = apps[self[socket].app].rules.policy else { return }
        for subscription in self[socket].subscriptions {
            let channel = channels[subscription.slot].name
            guard let reference = policy.reference(of: channel), isLost(reference), !isPermitted(socket, on: channel) else {
                continue
            }
            self[socket].subscriptions.removeAll { $0.slot == subscription.slot }
            leave(subscription, socket, &effects)
            sendError(socket, "Your subscription to \(channel.text) has ended: \(reason)", &effects)
        }
    }
}
