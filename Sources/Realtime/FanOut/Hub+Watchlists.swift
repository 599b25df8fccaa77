import Primitives
import PusherProtocol

/// Watchlists: who is told when a user comes and goes (protocol section W).
extension Hub {
    /// Counts the users whom a connection is going to watch, as far as the application's limits permit it, and tells the
    /// client if they are fewer than its watchlist has.
    mutating func reserveWatches(_ socket: SocketID, _ user: SignedInUser, _ effects: inout [Effect]) {
        let app = self[socket].app
        var (count, newCount) = (0, 0)
        for watched in user.watchlist {
            let isNew = apps[app].users.watchers[Identifier(watched)] == nil
            if let limit = exceededLimit(app, isNewChannel: isNew, addedChannels: newCount) {
                let text =
                    "The application has reached its limit of \(limit): of the watchlist, the first \(count) users are watched"
                sendError(socket, text, code: 4302, &effects)
                break
            }
            apps[app].watchCount += 1
            count += 1
            newCount += isNew ? 1 : 0
        }
        self[socket].watchedCount = Int32(count)
    }

    /// Tells a connection who of those that its user watches is signed in, and from now on of every change.
    mutating func showWatchlist(_ socket: SocketID, _ effects: inout [Effect]) {
        guard isOpen(socket), !self[socket].isWatching, self[socket].watchedCount > 0, let user = self[socket].user else {
            return
        }
        let app = self[socket].app
        let watchlist = user.watchlist.prefix(Int(self[socket].watchedCount))
        var (online, offline): ([String], [String]) = ([], [])
        for watched in watchlist {
            if apps[app].users.isOnline(watched) { online.append(watched) } else { offline.append(watched) }
        }
        effects.append(Effect(loop: socket.loop, instruction: .sendWatchlist(online: online, offline: offline, to: socket)))
        self[socket].isWatching = true
        for watched in watchlist { watch(watched, socket, app, &effects) }
    }

    /// Ends what a connection has watched.
    mutating func endWatchlist(of user: SignedInUser, _ socket: SocketID, _ app: AppIndex, _ effects: inout [Effect]) {
        let watchedCount = Int(self[socket].watchedCount)
        apps[app].watchCount -= watchedCount
        for watched in user.watchlist.prefix(watchedCount) {
            if self[socket].isWatching {
                unwatch(watched, socket, app, &effects)
            } else if apps[app].users.watchers[Identifier(watched)] == nil {
                clusterChanges.append((app, .unwatched(userID: watched)))
            }
        }
    }

    /// Subscribes a connection to the events about a user. The user's watchers are a channel without a public name, so
    /// that an event for them is one effect per loop, however many they are.
    private mutating func watch(_ userID: String, _ socket: SocketID, _ app: AppIndex, _ effects: inout [Effect]) {
        let id = Identifier(userID)
        var slot = apps[app].users.watchers[id] ?? -1
        if slot < 0 {
            slot = add(Channel(name: .watchers, app: app))
            apps[app].users.watchers[id] = slot
        }
        channels[slot].add(loop: socket.loop)
        effects.append(Effect(loop: socket.loop, instruction: .join(slot, socket)))
    }

    private mutating func unwatch(_ userID: String, _ socket: SocketID, _ app: AppIndex, _ effects: inout [Effect]) {
        let id = Identifier(userID)
        guard let slot = apps[app].users.watchers[id] else { return }
        channels[slot].remove(loop: socket.loop)
        effects.append(Effect(loop: socket.loop, instruction: .leave(slot, socket)))
        guard channels[slot].loops.isEmpty else { return }
        apps[app].users.watchers[id] = nil
        apps[app].users.set(userID, isElsewhere: false)
        if isClustered { clusterChanges.append((app, .unwatched(userID: userID))) }
        free(slot)
    }
}
