import FanOut
import PusherProtocol

/// What happens in the hub and must be known to other nodes, and which channels this node hears.
extension ClusterLink {
    /// A connection of a loop wants to subscribe to a channel.
    /// - Returns: whether it may at once. Otherwise ``Output/ready(_:app:loop:)`` follows.
    package mutating func want(_ channel: ChannelName, app: AppIndex, loop: Int, at now: Int64, _ outputs: inout [Output]) -> Bool
    {
        self.now = max(self.now, now)
        let token = listen(to: Interests.Key(app: app, channel: channel), &outputs)
        guard interests[token]?.isReady != true else {
            // It keeps its subject until the subscription comes.
            if interests[token]?.idleSince != nil { interests[token]?.idleSince = self.now }
            return true
        }
        interests[token]?.waiting.insert(loop)
        return false
    }

    /// The token of a channel, to whose subject the node is subscribed from now on.
    mutating func listen(to key: Interests.Key, isSignIns: Bool = false, _ outputs: inout [Output]) -> UInt64 {
        if let token = interests.tokens[key] { return token }
        let subject = subjects.channel(key.channel, app: rules[key.app].id)
        let token = interests.add(key, subject: subject, isSignIns: isSignIns, askedAt: isUp ? now : nil, at: now)
        outputs.append(.subscribe(subject: subject, token: token))
        return token
    }

    /// Something that other nodes must know has happened in the hub.
    package mutating func changed(_ change: Hub.ClusterChange, app: AppIndex, _ outputs: inout [Output]) {
        switch change {
        case .occupied(let channel):
            let token = listen(to: Interests.Key(app: app, channel: channel), &outputs)
            interests[token]?.idleSince = nil
        case .vacated(let channel):
            guard let token = interests.tokens[Interests.Key(app: app, channel: channel)] else { return }
            interests[token]?.idleSince = now
        case .memberJoined(let channel, let member):
            let version = localMembers.join(member, on: presence(channel, app), at: now)
            publish(.memberJoined(version: version, member), on: subjects.channel(channel, app: rules[app].id), &outputs)
            userChanged(member.id, isHere: true, on: channel, app: app, &outputs)
        case .memberLeft(let channel, let userID):
            let version = localMembers.leave(userID, on: presence(channel, app), at: now)
            publish(.memberLeft(version: version, userID: userID), on: subjects.channel(channel, app: rules[app].id), &outputs)
            userChanged(userID, isHere: false, on: channel, app: app, &outputs)
        case .signedIn(let userID): signInChanged(userID, isHere: true, app: app, &outputs)
        case .signedOut(let userID): signInChanged(userID, isHere: false, app: app, &outputs)
        case .watches(let socket, let userIDs): watches(socket, userIDs, app: app, &outputs)
        case .unwatched(let userID): unwatched(userID, app: app)
        case .count(let channel, let count): countChanged(count, on: channel, app: app, &outputs)
        case .relayed(let event, let channel, let sender, let userID):
            let frame = ServerMessage.clientEvent(event, channel: channel, userID: userID)
            publish(
                .clientEvent(frame: frame.bytes[...], sender: sender), on: subjects.channel(channel, app: rules[app].id), &outputs
            )
        }
    }

    func presence(_ channel: ChannelName, _ app: AppIndex) -> PresenceChannel {
        PresenceChannel(app: rules[app].id, name: channel.text)
    }

    /// An event was published on this node.
    package mutating func published(
        _ frame: Frame, on channel: ChannelName, app: AppIndex, except: SocketID?, _ outputs: inout [Output]
    ) {
        publish(.event(frame: frame.bytes[...], except: except), on: subjects.channel(channel, app: rules[app].id), &outputs)
        guard channel.isCache else { return }
        keepCached(frame, on: channel, app: app)
        // The answers to a question that waits are older.
        if let token = interests.tokens[Interests.Key(app: app, channel: channel)] {
            interests[token]?.hasReceivedEvent = true
        }
    }

    /// This node has written an entry to the log of what runs on top.
    package mutating func logged(_ entry: [UInt8], position: Int64, _ outputs: inout [Output]) {
        publish(.logged(position: position, entry: entry[...]), on: subjects.nodes, &outputs)
    }

    /// The connections of a user are to be closed everywhere.
    package mutating func terminated(_ userID: String, app: AppIndex, _ outputs: inout [Output]) {
        publish(.terminate(app: rules[app].id, userID: userID), on: subjects.nodes, &outputs)
    }

    /// Tells all other nodes something.
    package mutating func tell(_ note: ClusterNote, _ outputs: inout [Output]) {
        publish(.note(note), on: subjects.nodes, &outputs)
    }

    // MARK: Interest

    /// Lets the subscriptions to a channel go on, if nothing is missing any longer.
    mutating func release(_ token: UInt64, _ outputs: inout [Output]) {
        guard let interest = interests[token], interest.isReady else { return }
        releaseWatchers(of: token, &outputs)
        for loop in interest.waiting {
            outputs.append(.ready(interest.key.channel, app: interest.key.app, loop: loop))
        }
        interests[token]?.waiting = LoopSet()
        // It keeps its subject until the subscriptions come.
        if interest.idleSince != nil, !interest.waiting.isEmpty { interests[token]?.idleSince = now }
    }

    mutating func leave(_ token: UInt64, _ outputs: inout [Output]) {
        guard let interest = interests[token] else { return }
        if interest.members != nil, !interest.isSignIns {
            outputs.append(.hub(.forgetRemoteMembers(on: interest.key.channel, app: interest.key.app)))
        }
        outputs.append(.unsubscribe(token: token))
        interests.remove(token)
    }
}
