import Access
import Cluster
import FanOut
import Fleet
import HTTP
import PusherAPI
import PusherProtocol
import Realtime
import Server

/// Signing subscriptions and sign-ins.
extension FleetNode {
    /// Signs a subscription if the hub permits it. The hub then stores the user's identity with the connection, so that
    /// it can end the subscription when the job goes to another driver.
    func authorize(_ authorization: ChannelAuthorization, _ pending: PendingRequest, _ id: RequestID) -> HTTPResponse? {
        let hub = node.hub
        let mayJoin = hub.read { $0.mayJoin(authorization.identity, authorization.channel, app: authorization.app) }
        guard mayJoin else {
            // Another node may have answered a moment ago that the driver has the job.
            guard hub.isClustered, !node.isWaiting(id),
                fleet.look(replyTo: ReplyAddress(loop: index, request: id.rawValue))
            else { return authorization.refused }
            node.wait(pending, for: id)
            undecidedAuthorizations[id] = authorization
            return nil
        }
        guard let socket = authorization.socket else { return authorization.granted }
        return record(
            socket, authorization.identity, device: authorization.device, channel: authorization.channel,
            then: authorization.granted, pending, id)
    }

    /// Decides an authorization once more, now that this node knows what the others have committed.
    func decideAuthorization(of id: RequestID) {
        guard let authorization = undecidedAuthorizations.removeValue(forKey: id), let pending = node.waiting[id] else { return }
        if let response = authorize(authorization, pending, id) { node.respond(response, to: id) }
    }

    func authenticate(_ user: UserAuthentication, _ pending: PendingRequest, _ id: RequestID) -> HTTPResponse? {
        guard let socket = user.socket else { return user.response }
        return record(socket, user.identity, device: user.device, channel: nil, then: user.response, pending, id)
    }

    /// Records the identity with the connection, on whichever node that is, before the client gets the signature.
    private func record(
        _ socket: SocketID, _ identity: Identity, device: String, channel: ChannelName?, then granted: HTTPResponse,
        _ pending: PendingRequest, _ id: RequestID
    ) -> HTTPResponse? {
        let authorized = AuthorizedConnection(socket, identity, device: device, channel: channel)
        guard let cluster = node.cluster, !node.hub.read({ $0.hasConnection(socket) }) else {
            node.change { $0.apply(authorized.input, &$1) }
            return granted
        }
        node.wait(pending, for: id)
        let (hub, loop) = (node.hub, index)
        let unreachable = pending.unavailable("The node of the connection does not answer: try again")
        cluster.ask(.custom(authorized.bytes)) { result in
            // If no node has the connection, it has closed: the signature is of no use.
            hub.post(.response(result.isComplete ? granted : unreachable, to: id), to: loop)
        }
        return nil
    }

    func abandoned(_ id: RequestID) {
        undecidedAuthorizations[id] = nil
        writings[id] = nil
    }
}
