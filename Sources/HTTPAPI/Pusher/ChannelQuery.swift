import FanOut
import HTTP
import JSON
import PusherProtocol

/// What a backend asks of an application's channels.
package enum ChannelQuery: Sendable {
    /// All occupied ones whose names begin so (G1–G4).
    case channels(prefix: String, ChannelAttributes)
    /// One (H1–H5).
    case channel(ChannelName, ChannelAttributes)
    /// The users of a presence channel (I1–I3).
    case users(ChannelName)

    /// Looks the answer up. Nothing is encoded meanwhile, for the hub is locked.
    package func lookUp(in hub: Hub, app: AppIndex) -> ChannelQueryResult {
        switch self {
        case .channels(let prefix, let attributes):
            .channels(hub.occupiedChannels(app: app, prefix: prefix), attributes)
        case .channel(let name, let attributes):
            .channel(name, hub.occupancy(of: name, app: app), hub.cachedEvent(on: name, app: app), attributes)
        case .users(let name): .users(hub.userIDs(on: name, app: app))
        }
    }
}

/// What was found, to be encoded.
package enum ChannelQueryResult: Sendable {
    case channels([(name: String, occupancy: Hub.Occupancy)], ChannelAttributes)
    case channel(ChannelName, Hub.Occupancy?, (frame: Frame, secondsLeft: Int)?, ChannelAttributes)
    case users([String])

    package var response: HTTPResponse {
        var json = JSONWriter(capacity: 1024)
        switch self {
        case .channels(let channels, let attributes): json.channels(channels, attributes)
        case .channel(let name, let occupancy, let cached, let attributes):
            json.raw(occupancy == nil ? #"{"occupied":false"# : #"{"occupied":true"#)
            json.attributes(attributes, isPresence: name.isPresence, occupancy, needsComma: true)
            if attributes.contains(.cache) { json.cache(cached) }
            json.raw("}")
        case .users(let ids):
            json.raw(#"{"users":["#)
            for (index, id) in ids.enumerated() {
                json.raw(index > 0 ? #",{"id":"# : #"{"id":"#)
                json.string(id)
                json.raw("}")
            }
            json.raw("]}")
        }
        return .json(200, json.bytes)
    }
}

extension JSONWriter {
    fileprivate mutating func channels(_ channels: [(name: String, occupancy: Hub.Occupancy)], _ attributes: ChannelAttributes) {
        raw(#"{"channels":{"#)
        for (index, (name, occupancy)) in channels.enumerated() {
            if index > 0 { raw(",") }
            string(name)
            raw(":{")
            self.attributes(attributes, isPresence: occupancy.users != nil, occupancy)
            raw("}")
        }
        raw("}}")
    }

    /// H5: the event's data as it was published, and for how long it will be kept.
    fileprivate mutating func cache(_ cached: (frame: Frame, secondsLeft: Int)?) {
        guard let cached, let data = ServerMessage.data(of: cached.frame) else { return raw(#","cache":null"#) }
        raw(#","cache":{"data":"#)
        raw(data)
        raw(#","ttl":"#)
        integer(cached.secondsLeft)
        raw("}")
    }
}
