import FanOut
import HTTP
import PusherAPI
import PusherProtocol

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
            guard let cursor = ConnectionCursor(text) else {
                throw .invalid("before", "be the socketId of a connection, or the next of a page")
            }
            before = cursor
        }
        let filter = Hub.ConnectionFilter(channel: channel, user: http.queryValue("user"))
        return .connections(
            filter, before: before, limit: try limit(), ofCluster: http.queryValue("cluster") == "true")
    }

    /// The query of `GET /api/ops/channels`.
    func channelQuery() throws(APIError) -> OpsQuery {
        let prefix = http.queryValue("prefix") ?? ""
        // The hub compares it with every name, and comparing other texts can be slow.
        guard prefix.isASCII else { throw .invalid("prefix", "be ASCII") }
        return .channels(prefix: prefix, limit: try limit())
    }
}
