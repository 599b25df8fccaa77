import Primitives
import PusherProtocol

/// An application's signed-in users and their watchers.
struct UserDirectory {
    /// The connections that are signed in as each user.
    private var connections: [Identifier: IndexedList<SocketID>] = [:]
    /// The slot of each watched user's channel, whose subscribers are the connections that watch the user.
    var watchers: [Identifier: ChannelSlot] = [:]

    /// Watched users who are signed in on other nodes of the cluster.
    private var elsewhere: Set<Identifier> = []

    /// The number of users with at least one signed-in connection.
    var count: Int { connections.count }

    func isOnline(_ userID: String) -> Bool {
        connections[Identifier(userID)] != nil || !elsewhere.isEmpty && elsewhere.contains(Identifier(userID))
    }

    /// Whether the user is signed in on other nodes.
    func isElsewhere(_ userID: String) -> Bool { !elsewhere.isEmpty && elsewhere.contains(Identifier(userID)) }

    mutating func set(_ userID: String, isElsewhere: Bool) {
        if isElsewhere { elsewhere.insert(Identifier(userID)) } else { elsewhere.remove(Identifier(userID)) }
    }

    /// Gives back the memory of a table that was far larger.
    /// - Returns: whether there was one.
    mutating func releaseMemory() -> Bool {
        connections.releaseSpareCapacity() || watchers.releaseSpareCapacity() || elsewhere.releaseSpareCapacity()
    }

    func connections(of userID: String) -> [SocketID] { connections[Identifier(userID)]?.elements ?? [] }

    /// Adds a connection of the user. Returns whether it is the user's first (protocol point W2).
    mutating func add(_ socket: SocketID, for userID: String) -> Bool {
        connections[Identifier(userID), default: IndexedList()].append(socket)
        return connections[Identifier(userID)]?.count == 1
    }

    /// Removes a connection of the user. Returns whether it was the user's last.
    mutating func remove(_ socket: SocketID, from userID: String) -> Bool {
        let id = Identifier(userID)
        _ = connections[id]?.remove(socket)
        guard connections[id]?.isEmpty == true else { return false }
        connections[id] = nil
        return true
    }
}
