import FanOut
import JSON
import PusherProtocol

/// Any bytes as a client's message: an answer is one small JSON object, an input is about the sender alone, and nothing
/// that needs a signature happens without one.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzClientMessage(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = UnsafeRawBufferPointer(start: start, count: count)
    for user in [nil, anna] { Message(text: text, user: user).check() }
    return 0
}

private let socket: SocketID = {
    guard let socket = SocketID("7.1") else { fatalError("a socket id") }
    return socket
}()

private let anna = try? SigninRequest(auth: "key1:ok", userData: #"{"id":"anna","user_info":{"n":1}}"#)
    .user(on: socket, key: "key1", limits: Limits()) { _, _ in true }

private struct Message {
    let text: UnsafeRawBufferPointer
    /// Whom the connection is signed in as.
    let user: SignedInUser?

    func check() {
        var verified: String?
        var rules = AppRules()
        rules.clientEvents = true
        let reaction = MessageAction(to: text, from: socket, key: "key1", rules: rules, user: user) { text, signature in
            guard signature == "ok" else { return false }
            verified = text
            return true
        }
        switch reaction {
        case .ignore: break
        case .reply(let frame): checkAnswer(frame)
        case .apply(.subscribe(let sender, let grant)):
            promise(sender == socket, "one subscribes oneself")
            checkGrant(grant, verified)
        case .apply(.unsubscribe(let sender, let channel)):
            promise(sender == socket, "one unsubscribes oneself")
            checkName(channel)
        case .applyRateLimited(.clientEvent(let sender, let event, let channel)):
            promise(sender == socket, "one speaks for oneself")
            checkEvent(event, on: channel)
        case .signIn(let newUser):
            promise(user == nil, "one signs in once")
            promise(verified?.hasPrefix("7.1::user::") == true, "signing in needs its own signature")
            checkUser(newUser)
        case .apply, .applyRateLimited: fatalError("clients do nothing else")
        }
    }

    // MARK: Subscriptions

    private func checkGrant(_ grant: SubscriptionGrant, _ verified: String?) {
        checkName(grant.channel)
        promise((grant.member != nil) == grant.channel.isPresence, "on presence channels one is somebody")
        if let member = grant.member { checkMember(member) }
        let signed = "7.1:\(grant.channel.text)"
        switch grant.channel.access {
        case .open: break
        case .signed, .encrypted: promise(verified == signed, "a private channel needs its own signature")
        case .presence:
            let isByUser = verified == signed && user != nil && grant.member == user?.member
            promise(isByUser || verified?.hasPrefix(signed + ":") == true, "a presence channel needs its own signature")
        case .user(let id): promise(user.map { Array($0.id.utf8) == Array(id.utf8) } == true, "a user's channel is his")
        }
    }

    private func checkName(_ name: ChannelName) {
        promise((1...Limits().nameLength).contains(name.text.utf8.count), "a channel's name is within its limit")
        promise(name.text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") }, "a name needs no escaping")
        if case .user = name.access { return }
        promise(name.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a name is plain")
    }

    private func checkMember(_ member: PresenceMember) {
        promise((1...Limits.userIDLength).contains(member.id.unicodeScalars.count), "a user's id is within its limit")
        promise(member.info?.count ?? 0 <= Limits().presenceInfoBytes, "what is said of a user is within its limit")
        guard let channel = ChannelName("presence-a", lengthMax: 200) else { fatalError("a channel's name") }
        checkData(ServerMessage.subscriptionSucceeded(channel, members: [member]), ["event", "channel", "data"])
        checkData(ServerMessage.memberAdded(channel, member), ["event", "channel", "data"])
        checkData(ServerMessage.memberRemoved(channel, userID: member.id), ["event", "channel", "data"])
    }

    private func checkUser(_ user: SignedInUser) {
        checkMember(user.member)
        promise(user.member.id == user.id, "a user is one member")
        promise(user.watchlist.count <= Limits.watchlistLength, "a watchlist is within its limit")
        promise(Set(user.watchlist).count == user.watchlist.count, "everybody is watched once")
        checkData(ServerMessage.signinSuccess(user), ["event", "data"])
        if !user.watchlist.isEmpty {
            checkData(ServerMessage.watchlistEvents(online: user.watchlist, offline: [user.id]), ["event", "data"])
        }
    }

    // MARK: Events

    private func checkEvent(_ event: ClientEvent, on channel: ChannelName) {
        checkName(channel)
        promise(channel.text == event.channel, "an event goes where it was sent")
        promise(channel.access == .signed || channel.access == .presence, "public channels are not for clients to speak on")
        promise(event.name.utf8.starts(with: "client-".utf8), "clients send client events")
        promise(event.name.unicodeScalars.count <= Limits().nameLength, "an event's name is within its limit")
        let frame = ServerMessage.clientEvent(event, channel: channel, userID: "1")
        let members = frame.members
        promise(members.map(\.name) == ["event", "channel", "data", "user_id"], "nothing else is passed on")
        promise(members.dropLast(2).allSatisfy { $0.kind == .string }, "an event and a channel have names")
        promise(members[2].kind == .string || members[2].kind == .null, "data is a text")
        promise(members[2].text?.utf8.count ?? 0 <= Limits().eventBytes, "data is within its limit")
    }

    // MARK: Messages

    /// What is quoted back is cut, so an answer is bounded however long the message was.
    private func checkAnswer(_ frame: Frame) {
        promise(frame.messageCount == 1 && frame.bytes.count < 2_048, "an answer is one small message")
        promise(frame.members.map(\.name) == ["event", "data"], "an answer is an event with data")
    }

    /// Whatever is said of whomever, the message is JSON, and its data is a text of JSON.
    private func checkData(_ frame: Frame, _ names: [String]) {
        let members = frame.members
        promise(members.map(\.name) == names, "a message is an event with data")
        var data = members.last?.text ?? ""
        let isObject: Void? = data.withUTF8 { try? JSONReader.object(UnsafeRawBufferPointer($0)) { _, _ in } }
        promise(isObject != nil, "data is a text of JSON")
    }
}

extension Frame {
    /// What its message holds, in order; nothing when it is no JSON object.
    fileprivate var members: [(name: String, kind: JSONSlice.Kind, text: String?)] {
        let headerLength = bytes[1] < 126 ? 2 : bytes[1] == 126 ? 4 : 10
        var members: [(name: String, kind: JSONSlice.Kind, text: String?)] = []
        let isObject: Void? = bytes.dropFirst(headerLength).withUnsafeBytes { payload in
            try? JSONReader.object(payload) { members.append(($0.string ?? "", $1.kind, $1.string)) }
        }
        return isObject == nil ? [] : members
    }
}
