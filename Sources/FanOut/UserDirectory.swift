import Primitives
import PusherProtocol

/// An application's signed-in users and their watchers.
struct UserDirectory {
    /// The connections that are signed in as each user.
    private var connections: [Identifier: [SocketID]] = [:]
    /// The connections whose watchlist contains each user.
    private var watchers: [Identifier: [SocketID]] = [:]

    /// The number of users with at least one signed-in connection.
    var count: Int { connections.count }

    func isOnline(_ userID: String) -> Bool { connections[Identifier(userID)] != nil }

    func connections(of userID: String) -> [SocketID] { connections[Identifier(userID)] ?? [] }

    /// Adds a connection of the user. Returns the watchers to notify that the user is online: none unless this is the
    /// user's first connection (protocol point W2).
    mutating func signIn(_ user: SignedInUser, _ socket: SocketID) -> [SocketID] {
        for watched in user.watchlist { watchers[Identifier(watched), default: []].append(socket) }
        connections[Identifier(user.id), default: []].append(socket)
        return connections(of: user.id).count == 1 ? watchers[Identifier(user.id)] ?? [] : []
    }

    /// Removes a connection of the user. Returns the watchers to notify that the user is offline: none unless this was
    /// the user's last connection.
    mutating func signOut(_ user: SignedInUser, _ socket: SocketID) -> [SocketID] {
        for watched in user.watchlist { Self.remove(socket, from: &watchers, at: Identifier(watched)) }
        Self.remove(socket, from: &connections, at: Identifier(user.id))
        return isOnline(user.id) ? [] : watchers[Identifier(user.id)] ?? []
    }

    private static func remove(_ socket: SocketID, from lists: inout [Identifier: [SocketID]], at id: Identifier) {
        lists[id]?.removeAll { $0 == socket }
        if lists[id]?.isEmpty == true { lists[id] = nil }
    }
}
