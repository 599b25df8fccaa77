import PusherProtocol

/// Signing in, and who hears of it (PROTOCOL U, W).
extension Hub {
    mutating func signin(_ socket: SocketID, _ user: SignedInUser, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        guard self[socket].user == nil else {
            return refuse(socket, "Already signed in: a connection cannot change its user", code: 4009, &effects)
        }
        recognise(socket)
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
