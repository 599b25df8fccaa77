import Addresses
import Cluster
import FanOut
import HTTP
import JSON
import Primitives
import PusherAPI
import PusherProtocol
import Threads

/// A list of connections while it is made: what the hub knows of each connection, to which each loop adds what it knows of
/// its own.
package struct ConnectionReport: Sendable {
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
    /// Gets the report when all loops have added to it, on the last loop's thread.
    let completed: @Sendable (ConnectionReport) -> Void

    init(
        _ entries: [Hub.ConnectionEntry], next: Hub.ConnectionPosition?,
        _ completed: @escaping @Sendable (ConnectionReport) -> Void
    ) {
        self.next = next
        connections = entries.map { ($0, nil) }
        self.completed = completed
    }

    /// Adds the details of the connections of one loop.
    mutating func add(loop: Int, _ details: (SocketID) -> Details?) {
        for index in connections.indices where connections[index].entry.socket.loop == loop {
            connections[index].details = details(connections[index].entry.socket)
        }
    }

    /// The response of `GET /api/ops/connections`. Connections that have closed meanwhile are left out.
    /// - Parameter apps: the ids of the applications.
    func response(apps: [String]) -> HTTPResponse {
        let unixMinusMonotonic = Clock.unixMilliseconds() - Clock.monotonicMilliseconds()
        let entries = entries(node: nil, apps: apps, unixMinusMonotonic: unixMinusMonotonic)
        return .connections(entries, next: next.map { "\($0)" })
    }

    /// A node's part of a page of all nodes' connections.
    func page(of node: String, apps: [String], unixMinusMonotonic: Int64) -> ConnectionPage {
        ConnectionPage(
            entries(node: node, apps: apps, unixMinusMonotonic: unixMinusMonotonic),
            next: next?.advanced(by: unixMinusMonotonic))
    }

    private func entries(node: String?, apps: [String], unixMinusMonotonic: Int64) -> [ConnectionPage.Entry] {
        connections.compactMap { entry, details in
            guard let details else { return nil }
            var json = JSONWriter(capacity: 512)
            json.object {
                $0.member("socketId", "\(entry.socket)")
                $0.member("node", ifPresent: node)
                $0.member("since", time: entry.openedAt + unixMinusMonotonic)
                $0.member("loop", entry.socket.loop)
                $0.member("app", apps[entry.app])
                $0.member("user", ifPresent: entry.user)
                $0.member("channels", entry.channels)
                if entry.channelCount > entry.channels.count { $0.member("channelCount", entry.channelCount) }
                $0.member("outboxBytes", details.outboxBytes)
                $0.member("lastSeenAt", time: details.lastSeenAt)
                $0.member("address", details.address.masked)
            }
            return ConnectionPage.Entry(position: entry.position.advanced(by: unixMinusMonotonic), json: json.bytes)
        }
    }
}

extension HTTPResponse {
    /// A page of all nodes' connections.
    static func connections(_ page: ConnectionPage) -> HTTPResponse {
        connections(page.entries, next: page.next.map { ConnectionCursor.next(inCluster: $0) })
    }

    fileprivate static func connections(_ entries: [ConnectionPage.Entry], next: String?) -> HTTPResponse {
        var json = JSONWriter(capacity: 4_096)
        json.object {
            $0.member("connections", entries) { $0.raw($1.json) }
            $0.member("next", ifPresent: next)
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
