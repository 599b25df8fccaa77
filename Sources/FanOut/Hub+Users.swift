import PusherProtocol

/// Sign-in, watchlists, and termination of a user's connections (protocol sections U and W).
extension Hub {
    mutating func signin(_ socket: SocketID, _ user: SignedInUser, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        guard self[socket].user == nil else {
            return sendError(socket, "Already signed in: a connection cannot change its user", code: 4009, &effects)
        }
        stopCountingAsAnonymous(socket)
        self[socket].user = user
        let app = self[socket].app
        let watchers = apps[app].users.signIn(user, socket)
        send(socket, ServerMessage.signinSuccess(user), &effects)
        if user.isWatchlistTruncated {
            let text = "The watchlist exceeds the allowed maximum: its first \(Limits.watchlistLength) users are watched"
            sendError(socket, text, code: 4302, &effects)
        }
        if !user.watchlist.isEmpty {
            let online = user.watchlist.filter { apps[app].users.isOnline($0) }
            let offline = user.watchlist.filter { !apps[app].users.isOnline($0) }
            send(socket, ServerMessage.watchlistEvents(online: online, offline: offline), &effects)
        }
        sendAll(watchers.filter { $0 != socket }, ServerMessage.watchlistEvents(online: [user.id], offline: []), &effects)
    }

    mutating func signOut(_ user: SignedInUser, _ socket: SocketID, _ app: AppIndex, _ effects: inout [Effect]) {
        let watchers = apps[app].users.signOut(user, socket)
        sendAll(watchers, ServerMessage.watchlistEvents(online: [], offline: [user.id]), &effects)
    }

    /// Closes the connections that are signed in as the user (U6). A connection that did not sign in, and only uses the
    /// id in a presence channel, stays open.
    func terminate(_ userID: String, _ app: AppIndex, _ effects: inout [Effect]) {
        for socket in apps[app].users.connections(of: userID) {
            effects.append(Effect(loop: socket.loop, instruction: .close(socket, .notAuthorized)))
        }
    }

    private func sendAll(_ sockets: [SocketID], _ frame: Frame, _ effects: inout [Effect]) {
        for socket in sockets { send(socket, frame, &effects) }
    }
}
