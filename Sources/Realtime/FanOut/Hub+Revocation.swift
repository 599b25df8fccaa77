import Access
import PusherProtocol

/// Ends subscriptions when a driver loses a job.
extension Hub {
    /// The reason in the error event that a driver gets when a job was reassigned or unassigned, has a new reference,
    /// or has ended.
    static let jobLost = "the job is no longer assigned to you"

    /// Records a job's driver. If a driver loses access to the channels with the job's previous reference, ends that
    /// driver's subscriptions to them, except those that another identity of the same connection permits.
    mutating func record(_ assignment: JobAssignment, _ app: AppIndex, _ effects: inout [Effect]) {
        guard
            let lost = apps[app].jobs.set(
                assignment.orderCode, reference: assignment.reference, driverID: assignment.driverID)
        else { return }
        let key = Identity(role: .driver, id: lost.driverID).key
        for socket in apps[app].users.connections(of: key) + (apps[app].socketsByIdentity[key] ?? []) {
            endJobSubscriptions(of: socket, because: Self.jobLost, &effects) { $0 == lost.reference }
        }
    }

    /// Ends a connection's subscriptions to the channels of lost jobs, except those that one of the connection's
    /// identities or its signed-in user still permits.
    /// - Parameter isLost: whether the driver has lost access to the channels with this reference.
    mutating func endJobSubscriptions(
        of socket: SocketID, because reason: String, _ effects: inout [Effect], where isLost: (_ reference: String) -> Bool
    ) {
        guard let policy = apps[self[socket].app].rules.policy else { return }
        endSubscriptions(of: socket, because: reason, &effects) { policy.reference(of: $0).map(isLost) ?? false }
    }

    /// Ends those of a connection's subscriptions that a condition selects, except those that one of the connection's
    /// identities or its signed-in user still permits.
    mutating func endSubscriptions(
        of socket: SocketID, because reason: String, _ effects: inout [Effect], where isLost: (ChannelName) -> Bool
    ) {
        for slot in self[socket].subscriptions.elements {
            let channel = channels[slot].name
            guard isLost(channel), !isPermitted(socket, on: channel) else { continue }
            _ = self[socket].subscriptions.remove(slot)
            leave(slot, socket, &effects)
            sendError(socket, "Your subscription to \(channel.text) has ended: \(reason)", &effects)
        }
    }
}
