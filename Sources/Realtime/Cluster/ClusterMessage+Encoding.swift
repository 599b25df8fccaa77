import PusherProtocol

// What the bodies of messages are on the wire.

extension ClusterMessage.Body {
    func write(to writer: inout ByteWriter) {
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
        case .logged(let position, let entry):
            writer.append(UInt64(bitPattern: position))
            writer.append(rest: entry)
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
        case .several(let bodies):
            for body in bodies {
                writer.append(body.kind.rawValue)
                writer.appendBlock { body.write(to: &$0) }
            }
        case .part(let number, let index, let isLast, let bytes):
            writer.append(number)
            writer.append(UInt64(index))
            writer.append(UInt8(isLast ? 1 : 0))
            writer.append(rest: bytes)
        }
    }

    init?(_ kind: ClusterMessage.Kind, _ reader: inout ByteReader) {
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
        case .logged: self = .logged(position: Int64(bitPattern: reader.int64()), entry: reader.rest())
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
        case .several:
            let bodies = reader.list { Self(inBundle: &$0) }
            guard !bodies.contains(nil) else { return nil }
            self = .several(bodies.compactMap(\.self))
        case .part:
            self = .part(of: reader.int64(), index: reader.count(), isLast: reader.byte() == 1, reader.rest())
        }
    }
}

extension ClusterMessage.Body {
    /// Nil if the next bytes are no message, or one that no bundle contains.
    fileprivate init?(inBundle reader: inout ByteReader) {
        guard let kind = ClusterMessage.Kind(rawValue: reader.byte()), kind != .several, kind != .part else { return nil }
        var content = ByteReader(reader.block())
        guard let body = Self(kind, &content), content.isAtEnd else { return nil }
        self = body
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
