import Primitives
import PusherProtocol

/// Sign-in, and termination of a user's connections (protocol section U).
extension Hub {
    mutating func signin(_ socket: SocketID, _ user: SignedInUser, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        guard self[socket].user == nil else {
            return sendError(socket, "Already signed in: a connection cannot change its user", code: 4009, &effects)
        }
        stopCountingAsAnonymous(socket)
        self[socket].user = user
        let app = self[socket].app
        let isFirst = apps[app].users.add(socket, for: user.id)
        effects.append(Effect(loop: socket.loop, instruction: .sendSigninSuccess(user, to: socket)))
        if !gates.isEmpty { gates[0].signedIn(Subscriber(socket: socket, app: app, user: user)) }
        promoteLegacy(socket, &effects)
        if user.isWatchlistTruncated {
            let text = "The watchlist exceeds the allowed maximum: its first \(Limits.watchlistLength) users are watched"
            sendError(socket, text, code: 4302, &effects)
        }
        reserveWatches(socket, user, &effects)
        if isClustered {
            if isFirst { clusterChanges.append((app, .signedIn(userID: user.id))) }
            let watched = Array(user.watchlist.prefix(Int(self[socket].watchedCount)))
            if !watched.isEmpty { clusterChanges.append((app, .watches(socket, watched))) }
        } else {
            showWatchlist(socket, &effects)
        }
        if !self[socket].keptNames.isEmpty { effects.append(Effect(loop: socket.loop, instruction: .openKeptNames(socket))) }
        // The socket may watch its own user; it has been told already.
        if isFirst, !apps[app].users.isElsewhere(user.id), let slot = apps[app].users.watchers[Identifier(user.id)] {
            fanOut(ServerMessage.watchlistEvents(online: [user.id], offline: []), on: slot, except: socket, &effects)
        }
    }

    mutating func signOut(_ user: SignedInUser, _ socket: SocketID, _ app: AppIndex, _ effects: inout [Effect]) {
        let isLast = apps[app].users.remove(socket, from: user.id)
        endWatchlist(of: user, socket, app, &effects)
        if isLast, isClustered { clusterChanges.append((app, .signedOut(userID: user.id))) }
        if isLast, !apps[app].users.isElsewhere(user.id), let slot = apps[app].users.watchers[Identifier(user.id)] {
            fanOut(ServerMessage.watchlistEvents(online: [], offline: [user.id]), on: slot, &effects)
        }
    }

    /// Closes the connections that are signed in as the user (U6). A connection that did not sign in, and only uses the
    /// id in a presence channel, stays open.
    func terminate(_ userID: String, _ app: AppIndex, _ effects: inout [Effect]) {
        for socket in apps[app].users.connections(of: userID) {
            effects.append(Effect(loop: socket.loop, instruction: .close(socket, .notAuthorized)))
        }
    }
}
