import PusherProtocol

/// One step of a run of the cluster.
enum ClusterStep {
    /// A connection opens on a node. With a user, it signs in.
    case open(SocketID, user: String?, on: Int)
    case close(SocketID, on: Int)
    case subscribe(SocketID, ChannelName, userID: String?, on: Int)
    case unsubscribe(SocketID, ChannelName, on: Int)
    /// A backend publishes an event.
    case publish(ChannelName, except: SocketID?, on: Int)
    case clientEvent(SocketID, ChannelName, on: Int)
    case terminate(String, on: Int)
    case pause(Int64)
    /// The bus is out of reach of a node, for so long.
    case cut(Int, milliseconds: Int64)
    /// A node's process ends, and another starts after so long.
    case kill(Int, milliseconds: Int64)
    case freeze(Int, milliseconds: Int64)
    /// Nothing happens for so long that all nodes must agree.
    case settle
}

extension ClusterStep: CustomStringConvertible {
    var description: String {
        switch self {
        case .open(let socket, let user, let node): "n\(node) opens \(socket)\(user.map { " of \($0)" } ?? "")"
        case .close(let socket, let node): "n\(node) closes \(socket)"
        case .subscribe(let socket, let channel, let userID, let node):
            "n\(node) subscribes \(socket) to \(channel.text)\(userID.map { " as \($0)" } ?? "")"
        case .unsubscribe(let socket, let channel, let node): "n\(node) unsubscribes \(socket) from \(channel.text)"
        case .publish(let channel, let except, let node):
            "n\(node) publishes to \(channel.text)\(except.map { " except \($0)" } ?? "")"
        case .clientEvent(let socket, let channel, let node): "n\(node) relays an event of \(socket) on \(channel.text)"
        case .terminate(let user, let node): "n\(node) terminates \(user)"
        case .pause(let time): "\(time) ms pass"
        case .cut(let node, let time): "n\(node) is cut off for \(time) ms"
        case .kill(let node, let time): "n\(node) dies for \(time) ms"
        case .freeze(let node, let time): "n\(node) freezes for \(time) ms"
        case .settle: "settle"
        }
    }
}
