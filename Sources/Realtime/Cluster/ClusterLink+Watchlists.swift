import FanOut
import PusherProtocol

/// Who is signed in on other nodes, for those who watch. To the nodes, a user who is signed in is the one member of a channel
/// of the user's own.
extension ClusterLink {
    mutating func signInChanged(_ userID: String, isHere: Bool, app: AppIndex, _ outputs: inout [Output]) {
        let channel = ChannelName.signIns(of: userID)
        let key = PresenceChannel(app: rules[app].id, name: channel.text)
        let subject = subjects.channel(channel, app: rules[app].id)
        if isHere {
            let member = PresenceMember(id: userID)
            publish(.memberJoined(version: localMembers.join(member, on: key, at: now), member), on: subject, &outputs)
        } else {
            publish(.memberLeft(version: localMembers.leave(userID, on: key, at: now), userID: userID), on: subject, &outputs)
        }
    }

    /// A connection watches users: asks the other nodes about those that nobody here has watched.
    mutating func watches(_ socket: SocketID, _ userIDs: [String], app: AppIndex, _ outputs: inout [Output]) {
        var waiting = 0
        for userID in userIDs {
            let token = listen(to: Interests.Key(app: app, channel: .signIns(of: userID)), isSignIns: true, &outputs)
            interests[token]?.idleSince = nil
            guard interests[token]?.isReady != true else { continue }
            interests[token]?.watchers.append(socket)
            waiting += 1
        }
        if waiting == 0 { outputs.append(.hub(.showWatchlist(socket))) } else { interests.awaited[socket] = waiting }
    }

    mutating func unwatched(_ userID: String, app: AppIndex) {
        guard let token = interests.tokens[Interests.Key(app: app, channel: .signIns(of: userID))] else { return }
        interests[token]?.idleSince = now
    }

    /// It is known whether a user is signed in: tells those who have waited for the last of their users.
    mutating func releaseWatchers(of token: UInt64, _ outputs: inout [Output]) {
        guard let watchers = interests[token]?.watchers, !watchers.isEmpty else { return }
        interests[token]?.watchers = []
        for socket in watchers {
            guard let left = interests.awaited[socket].map({ $0 - 1 }) else { continue }
            interests.awaited[socket] = left == 0 ? nil : left
            if left == 0 { outputs.append(.hub(.showWatchlist(socket))) }
        }
    }
}
