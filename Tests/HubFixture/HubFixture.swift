import FanOut
import JSON
import PusherProtocol

// Fixtures for tests of the hub, with the fleet or without.

/// The connection with this id.
package func socket(_ text: String) -> SocketID {
    guard let socket = SocketID(text) else { preconditionFailure("invalid socket_id") }
    return socket
}

/// The channel with this name.
package func name(_ text: String) -> ChannelName {
    guard let name = ChannelName(text, lengthMax: 200) else { preconditionFailure("invalid channel name") }
    return name
}

/// A member of a presence channel.
package func member(_ id: String, info: String? = nil) -> PresenceMember {
    PresenceMember(id: id, info: info.map { Array($0.utf8) })
}

/// A user who signs in with a watchlist.
package func user(_ id: String, watching watchlist: [String] = []) -> SignedInUser {
    var json = JSONWriter()
    json.raw(#"{"id":"#)
    json.string(id)
    json.raw(#","watchlist":["#)
    for (index, watched) in watchlist.enumerated() {
        if index > 0 { json.raw(",") }
        json.string(watched)
    }
    json.raw("]}")
    let request = SigninRequest(auth: "key:", userData: String(decoding: json.bytes, as: UTF8.self))
    guard let user = try? request.user(on: socket("1.0"), key: "key", limits: Limits(), verify: { _, _ in true }) else {
        preconditionFailure("invalid user data")
    }
    return user
}

/// A grant for a subscription. `id` is the member's id on a presence channel, and the signed-in user's id on a
/// server-to-user channel.
package func grant(_ channel: String, as id: String? = nil, info: String? = nil) -> SubscriptionGrant {
    var channelData: String?
    if let id, name(channel).isPresence {
        var json = JSONWriter()
        json.raw(#"{"user_id":"#)
        json.string(id)
        if let info {
            json.raw(#","user_info":"#)
            json.raw(info.utf8)
        }
        json.raw("}")
        channelData = String(decoding: json.bytes, as: UTF8.self)
    }
    let request = SubscriptionRequest(channel: channel, auth: "key:", channelData: channelData)
    let user = id.map { HubFixture.user($0) }
    guard
        let grant = try? request.grant(
            to: socket("1.0"), key: "key", limits: Limits(), user: user, verify: { _, _ in true })
    else { preconditionFailure("the fixture's subscription was rejected") }
    return grant
}

/// The confirmation of a subscription.
package func succeeded(_ channel: String) -> Frame { ServerMessage.subscriptionSucceeded(name(channel)) }

/// The error event with a text.
package func error(_ text: String, code: Int? = nil) -> Frame { ServerMessage.error(ProtocolError(text, code: code)) }

extension Instruction {
    /// Sends the list of these members.
    package static func sendPresence(_ channel: ChannelName, _ members: [PresenceMember], to socket: SocketID) -> Instruction {
        .sendPresence(PresenceList(channel, members), to: socket)
    }
}

/// An instruction of the hub, and the event loop that receives it.
package struct Received: Equatable {
    package let loop: Int
    package let instruction: Instruction

    package init(_ loop: Int, _ instruction: Instruction) {
        self.loop = loop
        self.instruction = instruction
    }

    /// A message for one connection.
    package static func send(_ frame: Frame, to socket: SocketID) -> Received { Received(socket.loop, .send(frame, to: socket)) }
}

extension Received {
    /// What the loops receive. What a loop encodes is given as the loop sends it.
    package init(_ effect: Hub.Effect) {
        switch effect.instruction {
        case .relay(let event, let name, let slot, let sender, let userID, let hidden):
            let frame = ServerMessage.clientEvent(
                hidden.isEmpty ? event : event.hiding(hidden), channel: name, userID: userID)
            self.init(effect.loop, .fanOut(frame, slot, except: sender))
        case .fanOutHiding(let names, let frame, let name, let slot, let sender):
            self.init(effect.loop, .fanOut(ServerMessage.event(frame, on: name, hiding: names), slot, except: sender))
        default: self.init(effect.loop, effect.instruction)
        }
    }
}
