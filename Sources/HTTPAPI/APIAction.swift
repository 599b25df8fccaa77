import Access
import FanOut
import Fleet
import HTTP

/// The action that the router selects for a complete request. The gateway carries it out.
///
/// The large cases are indirect, so that an action is copied in few instructions.
package enum APIAction {
    /// Send this response.
    case respond(HTTPResponse)
    /// Publish all events. If the mailbox of an event loop is full, publish none of them and respond 503.
    case publish(PublishRequest, app: AppIndex)
    /// Look up channels and their subscribers in the hub.
    indirect case query(ChannelQuery, app: AppIndex)
    /// Close a user's signed-in connections, then respond 200 `{}` (protocol point J1).
    case terminate(userIDs: [String], app: AppIndex)
    /// Change the fleet's state durably. The response is that of the store.
    indirect case command(IssuedCommand)
    /// Read the fleet's state. The response is that of the store.
    /// - Parameter writing: the same request as a command, if the answer may need a write.
    indirect case fleetQuery(Query, by: Identity, writing: IssuedCommand? = nil)
    /// Take a driver's positions.
    indirect case locate(LocationReport, Identity)
    /// Answer how a trip stands, for a person who may see it.
    indirect case tripStatus(reference: String, Identity)
    /// `GET /api/admin/drivers/positions`.
    case driverPositions
    /// Sign a channel subscription if the hub permits it.
    indirect case authorize(ChannelAuthorization)
    /// Sign a user's data, and record the user's device.
    indirect case authenticate(UserAuthentication)
    /// `GET /api/ops/stats`: counters of the gateway, or with `cluster=true` of all nodes.
    case stats(ofCluster: Bool)
    /// `GET /api/ops/push`: state, depth and last error of each push lane.
    case pushReport
    /// The connections or channels that an operator asks for.
    indirect case ops(OpsQuery)
    /// `GET /healthz`: whether all threads make progress.
    case liveness
    /// `GET /readyz`: whether the gateway accepts clients.
    case readiness
    /// `GET /metrics`.
    case metrics
}
