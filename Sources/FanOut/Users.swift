import PusherProtocol

/// An application's signed-in users and who watches whom.
struct UserDirectory {
    private var connections: [UserID: [SocketID]] = [:]
    private var watchers: [UserID: [SocketID]] = [:]

    /// Users with at least one signed-in connection.
    var count: Int { connections.count }

    func isOnline(_ userID: String) -> Bool { connections[UserID(userID)] != nil }

    func connections(of userID: String) -> [SocketID] { connections[UserID(userID)] ?? [] }

    /// Those to be told that the user is online: nobody unless this is his first connection (W2).
    mutating func signIn(_ user: SignedInUser, _ socket: SocketID) -> [SocketID] {
        for watched in user.watchlist { watchers[UserID(watched), default: []].append(socket) }
        connections[UserID(user.id), default: []].append(socket)
        return connections(of: user.id).count == 1 ? watchers[UserID(user.id)] ?? [] : []
    }

    /// Those to be told that the user is offline: nobody unless that was his last connection.
    mutating func signOut(_ user: SignedInUser, _ socket: SocketID) -> [SocketID] {
        for watched in user.watchlist { Self.remove(socket, from: &watchers, at: UserID(watched)) }
        Self.remove(socket, from: &connections, at: UserID(user.id))
        return isOnline(user.id) ? [] : watchers[UserID(user.id)] ?? []
    }

    private static func remove(_ socket: SocketID, from lists: inout [UserID: [SocketID]], at id: UserID) {
        lists[id]?.removeAll { $0 == socket }
        if lists[id]?.isEmpty == true { lists[id] = nil }
    }
}
