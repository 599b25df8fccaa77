import FanOut
import JSON
import PusherProtocol

/// Handles any bytes as a client's message. Invariants: a reply is one small JSON object, an input concerns only the
/// sender, and a message that requires a signature has no effect without one.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzClientMessage(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = UnsafeRawBufferPointer(start: start, count: count)
    for user in [nil, anna] { Message(text: text, user: user).check() }
    return 0
}

/// The connection that sends each message.
private let socket: SocketID = {
    guard let socket = SocketID("7.1") else { fatalError("7.1 is not a socket id") }
    return socket
}()

/// A signed-in user.
private let anna = try? SigninRequest(auth: "key1:ok", userData: #"{"id":"anna","user_info":{"n":1}}"#)
    .user(on: socket, key: "key1", limits: Limits()) { _, _ in true }

private struct Message {
    let text: UnsafeRawBufferPointer
    /// The connection's user; nil if it is not signed in.
    let user: SignedInUser?

    func check() {
        var verified: String?
        var rules = AppRules()
        rules.clientEvents = true
        let action = MessageAction(to: text, from: socket, key: "key1", rules: rules, user: user) { text, signature in
            guard signature == "ok" else { return false }
            verified = text
            return true
        }
        switch action {
        case .recordPong: break
        case .reply(let frame), .refuse(let frame, _): checkReply(frame)
        case .apply(.subscribe(let sender, let grant)):
            invariant(sender == socket, "the subscriber is the sender")
            checkGrant(grant, verified)
        case .apply(.unsubscribe(let sender, let channel)):
            invariant(sender == socket, "the unsubscriber is the sender")
            checkName(channel)
        case .applyRateLimited(.clientEvent(let sender, let event, let channel)):
            invariant(sender == socket, "a client event comes from the sender")
            checkEvent(event, on: channel)
        case .signIn(let newUser):
            invariant(user == nil, "a connection signs in once")
            invariant(verified?.hasPrefix("7.1::user::") == true, "sign-in requires a signature for this connection")
            checkUser(newUser)
        case .apply, .applyRateLimited: fatalError("invariant violated: a message causes no other input")
        }
    }

    // MARK: Subscriptions

    private func checkGrant(_ grant: SubscriptionGrant, _ verified: String?) {
        checkName(grant.channel)
        invariant((grant.member != nil) == grant.channel.isPresence, "a grant has a member only on presence channels")
        if let member = grant.member { checkMember(member) }
        let signed = "7.1:\(grant.channel.text)"
        switch grant.channel.access {
        case .open: break
        case .signed, .encrypted:
            let isForChannel = verified == signed || verified?.hasPrefix(signed + ":") == true
            invariant(isForChannel, "a private channel requires a signature for it")
        case .presence:
            let isByUser = verified == signed && user != nil && grant.member == user?.member
            invariant(isByUser || verified?.hasPrefix(signed + ":") == true, "a presence channel requires a signature for it")
        case .user(let id):
            invariant(user.map { Array($0.id.utf8) == Array(id.utf8) } == true, "a user's channel is granted to this user only")
        }
    }

    private func checkName(_ name: ChannelName) {
        invariant((1...Limits().nameLength).contains(name.text.utf8.count), "a channel's name is within its limit")
        invariant(
            name.text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") }, "a channel's name needs no escaping in JSON")
        if case .user = name.access { return }
        invariant(name.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a channel's name is printable ASCII")
    }

    private func checkMember(_ member: PresenceMember) {
        invariant((1...Limits.userIDLength).contains(member.id.unicodeScalars.count), "a user's id is within its limit")
        invariant(member.info?.count ?? 0 <= Limits().presenceInfoBytes, "user_info is within its limit")
        guard let channel = ChannelName("presence-a", lengthMax: 200) else { fatalError("presence-a is not a channel name") }
        checkData(ServerMessage.subscriptionSucceeded(channel, members: [member]), ["event", "channel", "data"])
        checkData(ServerMessage.memberAdded(channel, member), ["event", "channel", "data"])
        checkData(ServerMessage.memberRemoved(channel, userID: member.id), ["event", "channel", "data"])
    }

    private func checkUser(_ user: SignedInUser) {
        checkMember(user.member)
        invariant(user.member.id == user.id, "the member has the user's id")
        invariant(user.watchlist.count <= Limits.watchlistLength, "a watchlist is within its limit")
        invariant(Set(user.watchlist).count == user.watchlist.count, "a watchlist has no duplicates")
        checkData(ServerMessage.signinSuccess(user), ["event", "data"])
        if !user.watchlist.isEmpty {
            checkData(ServerMessage.watchlistEvents(online: user.watchlist, offline: [user.id]), ["event", "data"])
        }
    }

    // MARK: Events

    private func checkEvent(_ event: ClientEvent, on channel: ChannelName) {
        checkName(channel)
        invariant(channel.text == event.channel, "an event keeps its channel")
        invariant(channel.access == .signed || channel.access == .presence, "client events are for private and presence channels")
        invariant(event.name.utf8.starts(with: "client-".utf8), "a client event's name starts with client-")
        invariant(event.name.unicodeScalars.count <= Limits().nameLength, "an event's name is within its limit")
        let frame = ServerMessage.clientEvent(event, channel: channel, userID: "1")
        let members = frame.members
        invariant(members.map(\.name) == ["event", "channel", "data", "user_id"], "a client event has these members only")
        invariant(members.dropLast(2).allSatisfy { $0.kind == .string }, "event and channel are strings")
        invariant(members[2].kind == .string || members[2].kind == .null, "data is a string or null")
        invariant(members[2].text?.utf8.count ?? 0 <= Limits().eventBytes, "data is within its limit")
    }

    // MARK: Messages

    /// A reply quotes at most the beginning of the message, so its length is bounded.
    private func checkReply(_ frame: Frame) {
        invariant(frame.messageCount == 1 && frame.bytes.count < 2_048, "a reply is one small message")
        invariant(frame.members.map(\.name) == ["event", "data"], "a reply has an event and data")
    }

    /// Checks that the message is JSON with these members, and that its data is a string that contains a JSON object.
    private func checkData(_ frame: Frame, _ names: [String]) {
        let members = frame.members
        invariant(members.map(\.name) == names, "a message has the expected members")
        var data = members.last?.text ?? ""
        let isObject: Void? = data.withUTF8 { try? JSONReader.object(UnsafeRawBufferPointer($0)) { _, _ in } }
        invariant(isObject != nil, "data is a string that contains a JSON object")
    }
}

extension Frame {
    /// The members of the frame's message, in order; empty if the message is not a JSON object.
    fileprivate var members: [(name: String, kind: JSONSlice.Kind, text: String?)] {
        let headerLength = bytes[1] < 126 ? 2 : bytes[1] == 126 ? 4 : 10
        var members: [(name: String, kind: JSONSlice.Kind, text: String?)] = []
        let isObject: Void? = bytes.dropFirst(headerLength).withUnsafeBytes { payload in
            try? JSONReader.object(payload) { members.append(($0.string ?? "", $1.kind, $1.string)) }
        }
        return isObject == nil ? [] : members
    }
}
