import Addresses
import FanOut
import HTTP
import JSON
import Primitives
import PusherProtocol
import Server
import Threads

/// The response of `GET /api/ops/connections` while it is made: what the hub knows of each connection, to which each loop
/// adds what it knows of its own.
struct ConnectionReport: Sendable {
    /// What a loop knows of a connection.
    struct Details: Sendable {
        /// Bytes that wait for the socket.
        let outboxBytes: Int
        /// When the client last sent anything, in milliseconds since 1970.
        let lastSeenAt: Int64
        let address: IPAddress
    }

    private(set) var connections: [(entry: Hub.ConnectionEntry, details: Details?)]
    /// Where the next page begins; nil if this is the last one.
    private let next: Hub.ConnectionPosition?
    let request: RequestID
    /// The loop that responds.
    let loop: Int

    init(_ entries: [Hub.ConnectionEntry], next: Hub.ConnectionPosition?, for request: RequestID, on loop: Int) {
        self.next = next
        connections = entries.map { ($0, nil) }
        self.request = request
        self.loop = loop
    }

    /// Adds the details of the connections of one loop.
    mutating func add(loop: Int, _ details: (SocketID) -> Details?) {
        for index in connections.indices where connections[index].entry.socket.loop == loop {
            connections[index].details = details(connections[index].entry.socket)
        }
    }

    /// Connections that have closed meanwhile are left out.
    /// - Parameter apps: the ids of the applications.
    func response(apps: [String]) -> HTTPResponse {
        let monotonicMinusWall = Clock.monotonicMilliseconds() - Clock.unixMilliseconds()
        var json = JSONWriter(capacity: 4_096)
        json.object {
            let described = connections.compactMap { entry, details in details.map { (entry, $0) } }
            $0.member("connections", described) { json, connection in
                let (entry, details) = connection
                json.object {
                    $0.member("socketId", "\(entry.socket)")
                    $0.member("since", time: entry.openedAt - monotonicMinusWall)
                    $0.member("loop", entry.socket.loop)
                    $0.member("app", apps[entry.app])
                    $0.member("user", ifPresent: entry.user)
                    $0.member("channels", entry.channels)
                    if entry.channelCount > entry.channels.count { $0.member("channelCount", entry.channelCount) }
                    $0.member("outboxBytes", details.outboxBytes)
                    $0.member("lastSeenAt", time: details.lastSeenAt)
                    $0.member("address", details.address.masked)
                }
            }
            $0.member("next", ifPresent: next.map { "\($0)" })
        }
        return .json(200, json.bytes)
    }
}

/// The response of `GET /api/ops/channels`.
struct ChannelReport {
    let response: HTTPResponse

    /// - Parameter apps: the ids of the applications.
    init(_ channels: [Hub.ChannelEntry], apps: [String]) {
        var json = JSONWriter(capacity: 4_096)
        json.object {
            $0.member("channels", channels) { json, channel in
                json.object {
                    $0.member("name", channel.name)
                    $0.member("app", apps[channel.app])
                    $0.member("subscriptions", channel.occupancy.subscriptions)
                    if let users = channel.occupancy.users { $0.member("users", users) }
                    $0.member("eventsLast5Minutes", channel.recentEvents)
                }
            }
        }
        response = .json(200, json.bytes)
    }
}
