import FanOut
import PusherProtocol

/// Ends subscriptions when a driver loses a job.
extension FleetAccess {
    /// The driver of a job, and the reference in the names of the job's channels. A job is an order that a driver
    /// carries out.
    package struct JobAssignment: Equatable, Sendable {
        /// The order's code, which identifies the job.
        package let orderCode: String
        /// The booking reference in the names of the job's channels (`tracking-…`, `booking-…`).
        package let reference: String
        /// Nil if no driver is assigned or the job has ended. When a job ends, its driver loses access to its channels,
        /// because a later job may have the same reference.
        package let driverID: String?

        /// - Parameter driverID: nil if the job has no driver, or has ended.
        package init(orderCode: String, reference: String, driverID: String?) {
            self.orderCode = orderCode
            self.reference = reference
            self.driverID = driverID
        }
    }

    /// The reason in the error event that a driver gets when a job was reassigned or unassigned, has a new reference,
    /// or has ended.
    static let jobLost = "the job is no longer assigned to you"

    /// Records a job's driver. If a driver loses access to the channels with the job's previous reference, ends that
    /// driver's subscriptions to them, except those that another identity of the same connection permits.
    mutating func record(
        _ assignment: JobAssignment, _ app: AppIndex, _ hub: inout Hub, _ effects: inout [Hub.Effect]
    ) {
        guard
            let lost = apps[app].jobs.set(
                assignment.orderCode, reference: assignment.reference, driverID: assignment.driverID)
        else { return }
        let key = Identity(role: .driver, id: lost.driverID).key
        for socket in connections(of: key, app: app, hub) {
            endJobSubscriptions(of: socket, because: Self.jobLost, &hub, &effects) { $0 == lost.reference }
        }
    }

    /// Ends a connection's subscriptions to the channels of lost jobs, except those that one of the connection's
    /// identities or its signed-in user still permits.
    /// - Parameter isLost: whether the driver has lost access to the channels with this reference.
    func endJobSubscriptions(
        of socket: SocketID, because reason: String, _ hub: inout Hub, _ effects: inout [Hub.Effect],
        where isLost: (_ reference: String) -> Bool
    ) {
        guard let policy = hub.subscriber(socket).flatMap({ apps[$0.app].policy }) else { return }
        endSubscriptions(of: socket, because: reason, &hub, &effects) { policy.reference(of: $0).map(isLost) ?? false }
    }

    /// Ends those of a connection's subscriptions that a condition selects, except those that one of the connection's
    /// identities or its signed-in user still permits.
    func endSubscriptions(
        of socket: SocketID, because reason: String, _ hub: inout Hub, _ effects: inout [Hub.Effect],
        where isLost: (ChannelName) -> Bool
    ) {
        guard let subscriber = hub.subscriber(socket) else { return }
        hub.endSubscriptions(of: socket, because: reason, &effects) { isLost($0) && !permits(subscriber, $0) }
    }
}
