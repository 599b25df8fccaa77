import Access
import JWT
import PusherAPI

/// What a request to the fleet's API makes the gateway do.
package enum FleetAction: ExtensionAction {
    /// Change the fleet's state durably. The response is that of the store.
    case command(IssuedCommand)
    /// Read the fleet's state. The response is that of the store.
    /// - Parameter writing: the same request as a command, if the answer may need a write.
    case query(Query, by: Sender, writing: IssuedCommand? = nil)
    /// Take a driver's positions.
    case locate(LocationReport, Identity)
    /// Answer how a trip stands, for a person who may see it.
    case tripStatus(reference: String, Identity)
    /// `GET /api/admin/drivers/positions`.
    case driverPositions
    /// Sign a channel subscription if the hub permits it.
    case authorize(ChannelAuthorization)
    /// Sign a user's data, and record the user's device.
    case authenticate(UserAuthentication)
    /// `GET /api/ops/push`: state, depth and last error of each push lane.
    case pushReport
}

/// What must be known of a token before its request can be routed.
package enum TokenNeed: MissingFact {
    /// The keys of the issuer must be fetched before the token can be verified.
    case key(MissingKey)
    /// The backend of an opaque token must be asked.
    case answer(OpaqueToken)
}

extension APIAction {
    static func fleet(_ action: FleetAction) -> APIAction { .perform(action) }
}
