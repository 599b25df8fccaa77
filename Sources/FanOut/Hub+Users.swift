import PusherProtocol

/// Signing in, and who hears of it (PROTOCOL U, W).
extension Hub {
    mutating func signin(_ socket: SocketID, _ user: SignedInUser, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        guard self[socket].user == nil else {
            return refuse(socket, "Already signed in: a connection cannot change its user", code: 4009, &effects)
        }
        self[socket].user = user
        let app = self[socket].app
        let watchers = apps[app].users.signIn(user, socket)
        tell(socket, ServerMessage.signinSuccess(user), &effects)
        if user.isWatchlistCut {
            let text = "The watchlist exceeds the allowed maximum: its first \(Limits.watchlistLength) users are watched"
            refuse(socket, text, code: 4302, &effects)
        }
        if !user.watchlist.isEmpty {
            let online = user.watchlist.filter { apps[app].users.isOnline($0) }
            let offline = user.watchlist.filter { !apps[app].users.isOnline($0) }
            tell(socket, ServerMessage.watchlistEvents(online: online, offline: offline), &effects)
        }
        tellAll(watchers.filter { $0 != socket }, ServerMessage.watchlistEvents(online: [user.id], offline: []), &effects)
    }

    mutating func signOut(_ user: SignedInUser, _ socket: SocketID, _ app: AppIndex, _ effects: inout [Effect]) {
        let watchers = apps[app].users.signOut(user, socket)
        tellAll(watchers, ServerMessage.watchlistEvents(online: [], offline: [user.id]), &effects)
    }

    /// U6: signed-in connections only; those that merely use the id in a presence channel stay.
    func terminate(_ userID: String, _ app: AppIndex, _ effects: inout [Effect]) {
        for socket in apps[app].users.connections(of: userID) {
            effects.append(Effect(loop: socket.loop, instruction: .close(socket, .notAuthorized)))
        }
    }

    private func tellAll(_ sockets: [SocketID], _ frame: Frame, _ effects: inout [Effect]) {
        for socket in sockets { tell(socket, frame, &effects) }
    }
}

/// An application's signed-in users and who watches whom.
struct Users {
    private var connections: [UserID: [SocketID]] = [:]
    private var watchers: [UserID: [SocketID]] = [:]

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
