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
        /// On the subject of all nodes: what a commit has changed. See ``CommitOrder``.
        case commit(position: Int64, record: ArraySlice<UInt8>)
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
        /// On the subject of all nodes: what the sender wants them to know.
        case note(ClusterNote)
        /// On the subject of all nodes, or of one: a question whose meaning the caller knows.
        case question(ticket: UInt64, kind: UInt8, ArraySlice<UInt8>)

        /// On the asking node's subject.
        case members(ticket: UInt64, PresenceVersion, [PresenceMember])
        /// On the asking node's subject: a part of an answer, which the last part ends.
        case answer(ticket: UInt64, isLast: Bool, ArraySlice<UInt8>)
    }

    package init(sender: Epoch, _ body: Body) {
        self.sender = sender
        self.body = body
    }

    // MARK: Encoding

    /// The message's bytes.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 64 + body.sizeHint)
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
        case commit = 6
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
}

extension ClusterMessage.Body {
    /// Whether it counts although its sender has said goodbye.
    var isLastWord: Bool { if case .handOver = self { true } else { false } }

    var kind: ClusterMessage.Kind {
        switch self {
        case .event: .event
        case .clientEvent: .clientEvent
        case .memberJoined: .memberJoined
        case .memberLeft: .memberLeft
        case .heartbeat: .heartbeat
        case .goodbye: .goodbye
        case .commit: .commit
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
        }
    }

    fileprivate var sizeHint: Int {
        switch self {
        case .event(let bytes, _), .commit(_, let bytes), .question(_, _, let bytes), .answer(_, _, let bytes): bytes.count
        default: 64
        }
    }

    fileprivate func write(to writer: inout ByteWriter) {
        switch self {
        case .event(let frame, let except):
            writer.append(except?.bits ?? 0)
            writer.append(rest: frame)
        case .clientEvent(let frame, let sender):
            writer.append(sender.bits)
            writer.append(rest: frame)
        case .memberJoined(let version, let member):
            writer.append(version)
            writer.append(member)
        case .memberLeft(let version, let userID):
            writer.append(version)
            writer.append(text: userID)
        case .heartbeat(let name, let versions):
            writer.append(text: name)
            for version in versions { writer.append(version) }
        case .goodbye, .sharesQuestion, .sharesBegin, .gaveUp: break
        case .sharesEnd(let count): writer.append(UInt64(count))
        case .sharesDigest(let digest): writer.append(digest)
        case .commit(let position, let record):
            writer.append(UInt64(bitPattern: position))
            writer.append(rest: record)
        case .membersQuestion(let ticket, let channel):
            writer.append(ticket)
            writer.append(channel)
        case .terminate(let app, let userID):
            writer.append(text: app)
            writer.append(text: userID)
        case .share(let key, let change, let report):
            writer.append(key)
            writer.append(report.rawValue)
            writer.append(change)
        case .handOver(let key, let facts):
            writer.append(key)
            for fact in facts { writer.append(fact) }
        case .subscriptionCount(let count): writer.append(UInt64(count))
        case .note(let note):
            writer.append(note.kind)
            writer.append(rest: note.content)
        case .cached(let key, let left, let frame):
            writer.append(key)
            writer.append(UInt64(bitPattern: left))
            writer.append(rest: frame)
        case .question(let ticket, let kind, let content):
            writer.append(ticket)
            writer.append(kind)
            writer.append(rest: content)
        case .members(let ticket, let version, let members):
            writer.append(ticket)
            writer.append(version)
            for member in members { writer.append(member) }
        case .answer(let ticket, let isLast, let content):
            writer.append(ticket)
            writer.append(UInt8(isLast ? 1 : 0))
            writer.append(rest: content)
        }
    }

    fileprivate init?(_ kind: ClusterMessage.Kind, _ reader: inout ByteReader) {
        switch kind {
        case .event:
            let except = reader.int64()
            self = .event(frame: reader.rest(), except: except == 0 ? nil : SocketID(bits: except))
        case .clientEvent:
            let sender = SocketID(bits: reader.int64())
            self = .clientEvent(frame: reader.rest(), sender: sender)
        case .memberJoined: self = .memberJoined(version: reader.int64(), reader.member())
        case .memberLeft: self = .memberLeft(version: reader.int64(), userID: reader.text())
        case .heartbeat:
            let name = reader.text()
            self = .heartbeat(name: name, reader.list { $0.presenceVersion() })
        case .goodbye: self = .goodbye
        case .sharesQuestion: self = .sharesQuestion
        case .sharesBegin: self = .sharesBegin
        case .sharesEnd: self = .sharesEnd(reader.count())
        case .sharesDigest: self = .sharesDigest(reader.int64())
        case .gaveUp: self = .gaveUp
        case .handOver:
            let key = reader.channelKey()
            let facts = reader.list { $0.handedFact() }
            guard !facts.contains(nil) else { return nil }
            self = .handOver(key, facts.compactMap(\.self))
        case .commit: self = .commit(position: Int64(bitPattern: reader.int64()), record: reader.rest())
        case .membersQuestion: self = .membersQuestion(ticket: reader.int64(), reader.presenceChannel())
        case .terminate: self = .terminate(app: reader.text(), userID: reader.text())
        case .share:
            let key = reader.channelKey()
            guard let report = ShareReport(rawValue: reader.byte()), let change = reader.shareChange() else { return nil }
            self = .share(key, change, report)
        case .note: self = .note(ClusterNote(kind: reader.byte(), content: Array(reader.rest())))
        case .cached:
            let key = reader.channelKey()
            self = .cached(key, millisecondsLeft: Int64(bitPattern: reader.int64()), frame: reader.rest())
        case .subscriptionCount: self = .subscriptionCount(reader.count())
        case .question: self = .question(ticket: reader.int64(), kind: reader.byte(), reader.rest())
        case .members:
            self = .members(ticket: reader.int64(), reader.presenceVersion(), reader.list { $0.member() })
        case .answer: self = .answer(ticket: reader.int64(), isLast: reader.byte() == 1, reader.rest())
        }
    }
}

extension ByteWriter {
    fileprivate mutating func append(_ change: ShareChange) {
        switch change {
        case .count(let count):
            append(UInt8(1))
            append(UInt64(count))
        case .joined(let userID):
            append(UInt8(2))
            append(text: userID)
        case .left(let userID):
            append(UInt8(3))
            append(text: userID)
        case .whole(let count, let userIDs):
            append(UInt8(4))
            append(UInt64(count))
            for userID in userIDs { append(text: userID) }
        }
    }

    fileprivate mutating func append(_ key: ChannelKey) {
        append(text: key.app)
        append(text: key.channel)
    }

    fileprivate mutating func append(_ handed: HandedFact) {
        append(handed.told.map { UInt8($0 ? 1 : 0) } ?? 2)
        switch handed.fact {
        case .occupancy: append(UInt8(1))
        case .count: append(UInt8(2))
        case .membership(let userID):
            append(UInt8(3))
            append(text: userID)
        }
    }

    fileprivate mutating func append(_ member: PresenceMember) {
        append(text: member.id)
        append(UInt8(member.info == nil ? 0 : 1))
        if let info = member.info { append(block: info) }
    }

    fileprivate mutating func append(_ channel: PresenceChannel) {
        append(text: channel.app)
        append(text: channel.name)
    }

    fileprivate mutating func append(_ version: PresenceVersion) {
        append(version.channel)
        append(version.version)
    }
}

extension ByteReader {
    fileprivate mutating func shareChange() -> ShareChange? {
        switch byte() {
        case 1: .count(count())
        case 2: .joined(userID: text())
        case 3: .left(userID: text())
        case 4: .whole(count: count(), users: list { $0.text() })
        default: nil
        }
    }

    fileprivate mutating func channelKey() -> ChannelKey { ChannelKey(app: text(), channel: text()) }

    /// Nil if it is of a kind that this version does not know.
    fileprivate mutating func handedFact() -> HandedFact? {
        let told: Bool?
        switch byte() {
        case 0: told = false
        case 1: told = true
        case 2: told = nil
        default: return nil
        }
        switch byte() {
        case 1: return HandedFact(.occupancy, told: told)
        case 2: return HandedFact(.count, told: told)
        case 3: return HandedFact(.membership(userID: text()), told: told)
        default: return nil
        }
    }

    fileprivate mutating func member() -> PresenceMember {
        let id = text()
        return PresenceMember(id: id, info: byte() == 1 ? Array(block()) : nil)
    }

    fileprivate mutating func presenceChannel() -> PresenceChannel { PresenceChannel(app: text(), name: text()) }

    fileprivate mutating func presenceVersion() -> PresenceVersion {
        PresenceVersion(channel: presenceChannel(), version: int64())
    }
}
