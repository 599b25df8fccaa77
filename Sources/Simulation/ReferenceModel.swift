import FanOut
import PusherProtocol

/// What the hub and the loops together must do, written so that it is plainly right: no loops, no slots, no batches.
///
/// A publish simply lands with everyone who subscribes at that moment. A new input of the hub is a case of
/// ``apply(_:)``.
struct ReferenceModel {
    /// An open connection.
    struct Connection {
        let app: AppIndex
        /// In the order of subscribing.
        var channels: [ChannelName] = []
    }

    /// Open connections only. Its order must not reach anything.
    private(set) var connections: [SocketID: Connection] = [:]
    /// All that each connection, open or closed, must receive, in order.
    private(set) var expected: [SocketID: [Frame]] = [:]

    mutating func apply(_ input: Hub.Input) {
        switch input {
        case .opened(let socket, let app):
            connections[socket] = Connection(app: app)
            expected[socket] = []
        case .subscribe(let socket, let grant): subscribe(socket, to: grant.channel)
        case .unsubscribe(let socket, let channel): unsubscribe(socket, from: channel)
        case .publish(let publications, let app, let sender):
            for publication in publications { publish(publication, app, except: sender) }
        case .closed(let socket): connections[socket] = nil
        default: break
        }
    }

    // MARK: Questions

    /// The connection's channels, in the order of subscribing.
    func channels(of socket: SocketID) -> [ChannelName] { connections[socket]?.channels ?? [] }

    var subscriptionCount: Int { connections.values.reduce(0) { $0 + $1.channels.count } }

    var channelCount: Int {
        var names: [AppIndex: Set<ChannelName>] = [:]
        for connection in connections.values { names[connection.app, default: []].formUnion(connection.channels) }
        return names.values.reduce(0) { $0 + $1.count }
    }

    /// The loops with subscribers of a channel.
    func loops(of channel: ChannelName, app: AppIndex) -> Set<Int> {
        Set(subscribers(of: channel, app).map(\.loop))
    }

    // MARK: Inputs

    private mutating func subscribe(_ socket: SocketID, to channel: ChannelName) {
        guard let connection = connections[socket] else { return }
        if connection.channels.contains(channel) {
            tell(socket, error: "Existing subscription to channel \(channel.text)")
        } else {
            connections[socket]?.channels.append(channel)
            expected[socket]?.append(ServerMessage.subscriptionSucceeded(channel))
        }
    }

    private mutating func unsubscribe(_ socket: SocketID, from channel: ChannelName) {
        guard let connection = connections[socket] else { return }
        if connection.channels.contains(channel) {
            connections[socket]?.channels.removeAll { $0 == channel }
        } else {
            tell(socket, error: "No current subscription to channel \(channel.text), or subscription in progress")
        }
    }

    private mutating func publish(_ publication: Hub.Publication, _ app: AppIndex, except sender: SocketID?) {
        for socket in subscribers(of: publication.channel, app) where socket != sender {
            expected[socket]?.append(publication.frame)
        }
    }

    private mutating func tell(_ socket: SocketID, error: String) {
        expected[socket]?.append(ServerMessage.error(ProtocolError(error)))
    }

    private func subscribers(of channel: ChannelName, _ app: AppIndex) -> [SocketID] {
        connections.compactMap { $0.value.app == app && $0.value.channels.contains(channel) ? $0.key : nil }
    }
}
