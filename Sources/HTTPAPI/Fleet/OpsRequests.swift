import FanOut
import HTTP
import PusherProtocol

/// A query of operators for what the hub knows.
package enum OpsQuery: Sendable {
    /// Connections, newest first.
    case connections(Hub.ConnectionFilter, before: ConnectionCursor?, limit: Int)
    /// Channels with subscribers, those with the most recent events first.
    case channels(prefix: String, limit: Int)
}

/// Where a page of connections begins.
package enum ConnectionCursor: Equatable, Sendable {
    /// Behind this connection, which must be open.
    case socket(SocketID)
    /// The `next` of the page before.
    case position(Hub.ConnectionPosition)
}

extension EndpointRequest {
    /// The query of `GET /api/ops/connections`.
    func connectionQuery() throws(APIError) -> OpsQuery {
        var channel: ChannelName?
        if let text = http.queryValue("channel") {
            guard let name = ChannelName(text, lengthMax: 256) else { throw .invalid("channel", "be the name of a channel") }
            channel = name
        }
        var before: ConnectionCursor?
        if let text = http.queryValue("before") {
            if let socket = SocketID(text) {
                before = .socket(socket)
            } else if let position = Hub.ConnectionPosition(text) {
                before = .position(position)
            } else {
                throw .invalid("before", "be the socketId of a connection, or the next of a page")
            }
        }
        return .connections(
            Hub.ConnectionFilter(channel: channel, user: http.queryValue("user")), before: before, limit: try limit())
    }

    /// The query of `GET /api/ops/channels`.
    func channelQuery() throws(APIError) -> OpsQuery {
        let prefix = http.queryValue("prefix") ?? ""
        // The hub compares it with every name, and comparing other texts can be slow.
        guard prefix.isASCII else { throw .invalid("prefix", "be ASCII") }
        return .channels(prefix: prefix, limit: try limit())
    }
}
