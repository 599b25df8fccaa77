import PusherProtocol

/// Plain names that were refused because their connection has not signed in.
///
/// When a client connects again, it may subscribe to its channels before its sign-in is complete: pusher-js does, and it
/// never repeats what was refused. Such an app would look connected and get nothing. So the hub keeps the names, and opens
/// them when the sign-in succeeds, in the order in which the client asked for them. pusher-js and pusher-websocket-java
/// accept a `subscription_succeeded` that comes late.
extension Hub {
    /// The most names of one connection. A further one is refused for good, and counted
    /// (``RefusedSubscriptions/keptNames``).
    package static let keptNamesMax = 32
    /// A connection that has not signed in for so long, in milliseconds, counts as one that never will: operators are told of
    /// its names.
    package static let signInGrace: Int64 = 10_000
    /// The most connections whose grace is watched. The names of others count at once.
    package static let gracesMax = 65_536

    /// A connection's first name was kept at this time.
    struct SignInGrace {
        let socket: SocketID
        let since: Int64
    }

    /// Keeps a name until the connection signs in.
    /// - Returns: false if there is no room.
    mutating func keep(_ grant: SubscriptionGrant, of socket: SocketID) -> Bool {
        let app = self[socket].app
        guard !self[socket].keptNames.contains(grant) else { return true }
        guard self[socket].keptNames.count < Self.keptNamesMax, hasRoomForKeptName(app) else {
            refusedSubscriptions.keptNames += 1
            return false
        }
        if self[socket].keptNames.isEmpty, signInGraces.count < Self.gracesMax {
            signInGraces.append(SignInGrace(socket: socket, since: now))
            self[socket].hasGrace = true
        }
        self[socket].keptNames.append(grant)
        apps[app].keptNameCount += 1
        if !self[socket].hasGrace { refuse(grant.channel, app, because: .notSignedIn) }
        return true
    }

    /// A kept name takes about as much memory as a subscription.
    private func hasRoomForKeptName(_ app: AppIndex) -> Bool {
        let most = apps[app].rules.limits.appSubscriptions
        return most == 0 || apps[app].subscriptionCount + apps[app].watchCount + apps[app].keptNameCount < most
    }

    /// Removes and returns the first kept name of a connection that has signed in, so that its loop opens the subscription.
    /// Nil if there is none.
    package mutating func takeKeptName(of socket: SocketID) -> SubscriptionGrant? {
        guard isOpen(socket), self[socket].user != nil, !self[socket].keptNames.isEmpty else { return nil }
        apps[self[socket].app].keptNameCount -= 1
        return self[socket].keptNames.removeFirst()
    }

    /// Forgets a kept name, because the client unsubscribes from it, or has subscribed to it now.
    /// - Returns: whether it was kept.
    mutating func forgetKeptName(_ channel: ChannelName, of socket: SocketID) -> Bool {
        guard let index = self[socket].keptNames.firstIndex(where: { $0.channel == channel }) else { return false }
        self[socket].keptNames.remove(at: index)
        apps[self[socket].app].keptNameCount -= 1
        return true
    }

    /// Forgets the names of a connection that closes. If it has not signed in, its app never got these channels.
    mutating func forgetKeptNames(of socket: SocketID) {
        guard !self[socket].keptNames.isEmpty else { return }
        endGrace(of: socket)
        apps[self[socket].app].keptNameCount -= self[socket].keptNames.count
        self[socket].keptNames = []
    }

    /// Counts the names of connections that have not signed in in time.
    mutating func endSignInGraces() {
        while let grace = signInGraces.first, now - grace.since >= Self.signInGrace {
            _ = signInGraces.popFirst()
            if isOpen(grace.socket) { endGrace(of: grace.socket) }
        }
    }

    private mutating func endGrace(of socket: SocketID) {
        guard self[socket].hasGrace, self[socket].user == nil else { return }
        self[socket].hasGrace = false
        for grant in self[socket].keptNames { refuse(grant.channel, self[socket].app, because: .notSignedIn) }
    }
}
