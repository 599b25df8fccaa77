import PusherProtocol

/// A message between nodes. Its header has 26 bytes; an event's frame follows 8 bytes behind it, so that an event takes 34
/// bytes more than its frame.
package struct ClusterMessage: Equatable, Sendable {
    /// The version of the format. Messages of other versions are ignored and counted, so that old and new nodes can share
    /// a bus during an upgrade.
    static let version: UInt8 = 1

    /// Who sent it.
    package var sender: Epoch
    /// Its number among the sender's messages. They increase by one or more.
    package var number: UInt64 = 0
    /// The number of the sender's message before it on the same subject; 0: the sender does not remember one. A receiver
    /// that has not seen that one has lost it.
    package var numberBefore: UInt64 = 0
    package var body: Body

    package enum Body: Equatable, Sendable {
        /// On a channel's subject: a frame for its subscribers, except for one connection of any node.
        case event(frame: ArraySlice<UInt8>, except: SocketID?)
        /// The same with a client's event, which is never the last event of a cache channel.
        case clientEvent(frame: ArraySlice<UInt8>, sender: SocketID)
        /// On a presence channel's subject: the user's first connection on the sender has subscribed.
        case memberJoined(version: UInt64, PresenceMember)
        /// On a presence channel's subject: the user's last connection on the sender has left.
        case memberLeft(version: UInt64, userID: String)

        /// On the subject of all nodes: the sender is alive. Names the presence channels whose members on it have changed
        /// recently, and their versions, so that the loss of the last change is noticed.
        case heartbeat(name: String, [PresenceVersion])
        /// On the subject of all nodes: the sender ends.
        case goodbye
        /// On the subject of all nodes: an entry of the log of what runs on top of the gateway. It is empty if it is too
        /// large for the bus.
        case logged(position: Int64, entry: ArraySlice<UInt8>)
        /// On the subject of all nodes, or of one: which members of a presence channel does the receiver have?
        case membersQuestion(ticket: UInt64, PresenceChannel)
        /// On the subject of a channel's keeper, and of the node that is to follow it: the sender's share has changed.
        case share(ChannelKey, ShareChange, ShareReport)
        /// On one node's subject: all shares of the channels that it keeps or follows come next, until the end.
        case sharesBegin
        /// On one node's subject: since the beginning, so many shares were sent.
        case sharesEnd(Int)
        /// On one node's subject: the digest of the shares that it was told. See ``ShareDigest``.
        case sharesDigest(UInt64)
        /// On one node's subject: it keeps or follows a channel from now on, and these facts are due, or were told a moment
        /// ago.
        case handOver(ChannelKey, [HandedFact])
        /// On one node's subject: the sender had declared it dead.
        case gaveUp
        /// On the subject of a cache channel's keeper, or of the node that is to follow it: the channel's last event.
        case cached(ChannelKey, millisecondsLeft: Int64, frame: ArraySlice<UInt8>)
        /// On one node's subject: a message of it was lost, so it must report its shares again.
        case sharesQuestion
        /// On a channel's subject: the number of subscribers of all nodes, for them.
        case subscriptionCount(Int)
        /// On the subject of all nodes: close the connections of a user.
        case terminate(app: String, userID: String)
        /// On the subject of all nodes: what runs on top of the sender wants them to know.
        case note(ClusterNote)
        /// On the subject of all nodes, or of one: a question whose meaning the caller knows.
        case question(ticket: UInt64, kind: UInt8, ArraySlice<UInt8>)

        /// On the asking node's subject.
        case members(ticket: UInt64, PresenceVersion, [PresenceMember])
        /// On the asking node's subject: a part of an answer, which the last part ends.
        case answer(ticket: UInt64, isLast: Bool, ArraySlice<UInt8>)

        /// On one node's subject: several messages, in order.
        case several([Body])
        /// On one node's subject: a part of a message that is too long for the bus, by its number. The first has the index 0.
        case part(of: UInt64, index: Int, isLast: Bool, ArraySlice<UInt8>)
    }

    package init(sender: Epoch, _ body: Body) {
        self.sender = sender
        self.body = body
    }

    // MARK: Encoding

    /// The message's bytes.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 32 + body.sizeHint)
        writer.append(Self.version)
        writer.append(body.kind.rawValue)
        writer.append(sender.value)
        writer.append(number)
        writer.append(numberBefore)
        body.write(to: &writer)
        return writer.bytes
    }

    /// Nil if the bytes are no message of this version.
    package init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard reader.byte() == Self.version, let kind = Kind(rawValue: reader.byte()) else { return nil }
        sender = Epoch(reader.int64())
        number = reader.int64()
        numberBefore = reader.int64()
        guard reader.isValid, let body = Body(kind, &reader), reader.isAtEnd else { return nil }
        self.body = body
    }

    /// A kind's value on the wire.
    enum Kind: UInt8 {
        case event = 1
        case memberJoined = 2
        case memberLeft = 3
        case heartbeat = 4
        case goodbye = 5
        case logged = 6
        case membersQuestion = 7
        case terminate = 8
        case question = 9
        case members = 10
        case answer = 11
        case share = 12
        case subscriptionCount = 13
        case cached = 14
        case note = 15
        case clientEvent = 16
        case sharesQuestion = 17
        case sharesBegin = 18
        case sharesEnd = 19
        case sharesDigest = 20
        case handOver = 21
        case gaveUp = 22
        case several = 23
        case part = 24
    }
}

/// What a node tells the others. Nobody answers, and it may be lost.
package struct ClusterNote: Equatable, Sendable {
    /// Its meaning, which the caller knows.
    package let kind: UInt8
    package let content: [UInt8]

    package init(kind: UInt8, content: [UInt8]) {
        self.kind = kind
        self.content = content
    }
}

/// A presence channel of an application. Nodes name applications by id, because they may list them in different orders.
package struct PresenceChannel: Hashable, Sendable {
    package let app: String
    package let name: String

    package init(app: String, name: String) {
        self.app = app
        self.name = name
    }
}

/// The version of a node's members of a presence channel. Each first or last connection of a user increases it by one.
package struct PresenceVersion: Equatable, Sendable {
    package let channel: PresenceChannel
    package let version: UInt64

    package init(channel: PresenceChannel, version: UInt64) {
        self.channel = channel
        self.version = version
    }

    var sizeHint: Int { 16 + channel.app.utf8.count + channel.name.utf8.count }
}

extension ClusterMessage.Body {
    /// Whether it counts although its sender has said goodbye.
    var isLastWord: Bool {
        switch self {
        case .handOver, .part: true
        case .several(let bodies): bodies.contains(where: \.isLastWord)
        default: false
        }
    }

    var kind: ClusterMessage.Kind {
        switch self {
        case .event: .event
        case .clientEvent: .clientEvent
        case .memberJoined: .memberJoined
        case .memberLeft: .memberLeft
        case .heartbeat: .heartbeat
        case .goodbye: .goodbye
        case .logged: .logged
        case .membersQuestion: .membersQuestion
        case .terminate: .terminate
        case .share: .share
        case .sharesQuestion: .sharesQuestion
        case .sharesBegin: .sharesBegin
        case .sharesEnd: .sharesEnd
        case .sharesDigest: .sharesDigest
        case .handOver: .handOver
        case .gaveUp: .gaveUp
        case .cached: .cached
        case .note: .note
        case .subscriptionCount: .subscriptionCount
        case .question: .question
        case .members: .members
        case .answer: .answer
        case .several: .several
        case .part: .part
        }
    }

    /// The number of bytes, about.
    var sizeHint: Int {
        switch self {
        case .event(let bytes, _), .logged(_, let bytes), .question(_, _, let bytes), .answer(_, _, let bytes),
            .cached(_, _, let bytes), .part(_, _, _, let bytes):
            64 + bytes.count
        case .share(let key, .whole(_, let users), _): users.reduce(32 + key.channel.utf8.count) { $0 + 4 + $1.utf8.count }
        case .share(let key, _, _): 64 + key.channel.utf8.count
        case .handOver(let key, let facts): facts.reduce(32 + key.channel.utf8.count) { $0 + $1.sizeHint }
        case .members(_, _, let members): members.reduce(64) { $0 + 8 + $1.id.utf8.count + ($1.info?.count ?? 0) }
        case .heartbeat(_, let versions): versions.reduce(64) { $0 + $1.sizeHint }
        case .several(let bodies): bodies.reduce(0) { $0 + $1.sizeHint }
        default: 64
        }
    }
}
