import FanOut
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
    /// The connections or channels that an operator asks for.
    indirect case ops(OpsQuery)
    /// Counters of the gateway, or those of all nodes.
    case stats(ofCluster: Bool)
    /// `GET /healthz`: whether all threads make progress.
    case liveness
    /// `GET /readyz`: whether the gateway accepts clients.
    case readiness
    /// `GET /metrics`.
    case metrics
    /// What an extension does.
    case perform(any ExtensionAction)
}
