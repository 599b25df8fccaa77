import FanOut
import HTTP
import JSON
import PusherProtocol

/// A query for the channels of an application in Pusher's HTTP API (protocol points G, H, I).
package enum ChannelQuery: Sendable {
    /// The occupied channels whose names begin with a prefix (G1–G4).
    case channels(prefix: String, ChannelAttributes)
    /// One channel (H1–H5).
    case channel(ChannelName, ChannelAttributes)
    /// The users of a presence channel (I1–I3).
    case users(ChannelName)

    /// Whether the result is a list, which takes long to encode if it is large.
    package var isList: Bool {
        if case .channel = self { false } else { true }
    }

    /// Looks up the result in the hub.
    /// - Parameter read: passes the hub to its argument, once or several times. The hub is locked only meanwhile, so the
    ///   result is sorted and encoded without the lock.
    package func lookUp(app: AppIndex, read: (_ body: (Hub) -> Void) -> Void) -> ChannelQueryResult {
        var result = ChannelQueryResult.users([])
        switch self {
        case .channels(let prefix, let attributes):
            result = .channels(Hub.occupiedChannels(app: app, prefix: prefix, read: read), attributes)
        case .channel(let name, let attributes):
            read { hub in
                result = .channel(name, hub.occupancy(of: name, app: app), hub.cachedEvent(on: name, app: app), attributes)
            }
        case .users(let name):
            var find: () -> [String] = { [] }
            read { find = $0.findUserIDs(on: name, app: app) }
            result = .users(find())
        }
        return result
    }
}

/// The result of a ``ChannelQuery``, not yet encoded.
package enum ChannelQueryResult: Sendable {
    case channels([(name: String, occupancy: Hub.Occupancy)], ChannelAttributes)
    case channel(ChannelName, Hub.Occupancy?, (frame: Frame, secondsLeft: Int)?, ChannelAttributes)
    case users([String])

    package var response: HTTPResponse {
        var json = JSONWriter(capacity: 1024)
        switch self {
        case .channels(let channels, let attributes):
            json.object {
                $0.member("channels") { json in
                    for (name, occupancy) in channels {
                        json.key(name)
                        json.object { $0.attributes(attributes, isPresence: occupancy.users != nil, occupancy) }
                    }
                }
            }
        case .channel(let name, let occupancy, let cached, let attributes):
            json.object {
                $0.member("occupied", occupancy != nil)
                $0.attributes(attributes, isPresence: name.isPresence, occupancy)
                if attributes.contains(.cache) { $0.cache(cached) }
            }
        case .users(let ids):
            json.object {
                $0.member("users", ids) { json, id in json.object { $0.member("id", id) } }
            }
        }
        return .json(200, json.bytes)
    }
}

extension JSONWriter {
    /// Writes the data of the cached event as it was published, and the seconds until it expires; null if no event is
    /// cached (protocol point H5).
    fileprivate mutating func cache(_ cached: (frame: Frame, secondsLeft: Int)?) {
        key("cache")
        guard let cached, let data = ServerMessage.data(of: cached.frame) else { return raw("null") }
        object {
            $0.key("data")
            $0.raw(data)
            $0.member("ttl", cached.secondsLeft)
        }
    }
}
