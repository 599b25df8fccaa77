import Access
import Crypto
import FanOut
import HTTP
import JSON
import PusherProtocol

/// `POST /pusher/auth`: a signature for one channel and one connection, for whoever may be there (PROTOCOL S10, S12, R7).
package struct ChannelAuthorization: Sendable {
    package let identity: Identity
    package let channel: ChannelName
    /// Nil for a socket_id that is none of this node's.
    package let socket: SocketID?
    package let app: AppIndex
    /// The answer for whoever may.
    package let granted: HTTPResponse

    /// The answer for who may not.
    package var refused: HTTPResponse {
        Envelope.error.error(403, "\(identity.key.clipped) may not subscribe to \(channel.text)")
    }

    init(_ request: HTTPRequest, _ identity: Identity, _ app: Application) throws(APIError) {
        let form = try AuthorizationForm(request)
        guard let text = form.channelName else { throw .missing("channel_name", "a string") }
        guard let channel = ChannelName(text, lengthMax: app.limits.nameLength) else {
            throw .invalid("channel_name", "be a channel name; found \(text.clipped)")
        }
        self.identity = identity
        self.channel = channel
        self.app = app.index
        socket = SocketID(form.socketID)
        switch channel.access {
        case .open, .user: throw APIError(403, "\(channel.text) needs no signature: only private- and presence- channels do")
        case .signed, .encrypted, .presence: break
        }
        let member = channel.isPresence ? Self.channelData(identity) : nil
        let signed = SigningText.subscription(form.socketID, channel, channelData: member)
        var json = JSONWriter()
        json.raw(#"{"auth":"#)
        json.string(app.key + ":" + app.sign(signed))
        if let member {
            json.raw(#","channel_data":"#)
            json.string(member)
        }
        if channel.access == .encrypted {
            guard let secret = app.sharedSecret(of: channel) else {
                throw APIError(403, "\(channel.text) needs encryption_master_key, which application \(app.id) does not have")
            }
            json.raw(#","shared_secret":"#)
            json.string(secret)
        }
        json.raw("}")
        granted = .json(200, json.bytes)
    }

    /// What others see of a member: `role:sub`, and his name.
    private static func channelData(_ identity: Identity) -> String {
        var json = JSONWriter()
        json.raw(#"{"user_id":"#)
        json.string(identity.key)
        json.raw(#","user_info":"#)
        json.userInfo(identity)
        json.raw("}")
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

/// `POST /pusher/user-auth`: a signature that makes a connection a user's (PROTOCOL U1).
struct UserAuthentication {
    let response: HTTPResponse

    init(_ request: HTTPRequest, _ identity: Identity, _ app: Application) throws(APIError) {
        let form = try AuthorizationForm(request)
        guard identity.key.unicodeScalars.count <= Limits.userIDLength else {
            throw APIError(403, "An id of more than \(Limits.userIDLength) characters, role included, cannot sign in")
        }
        var user = JSONWriter()
        user.raw(#"{"id":"#)
        user.string(identity.key)
        user.raw(#","user_info":"#)
        user.userInfo(identity)
        if identity.role == .customer {
            user.raw(#","bookings":["#)
            for (index, reference) in identity.bookings.enumerated() {
                if index > 0 { user.raw(",") }
                user.string(reference)
            }
            user.raw("]")
        }
        user.raw("}")
        let userData = String(decoding: user.bytes, as: UTF8.self)
        var json = JSONWriter()
        json.raw(#"{"auth":"#)
        json.string(app.key + ":" + app.sign(SigningText.signin(form.socketID, userData: userData)))
        json.raw(#","user_data":"#)
        json.string(userData)
        json.raw("}")
        response = .json(200, json.bytes)
    }
}

/// What Pusher's clients send to be authorized: a form, or JSON with the same names.
private struct AuthorizationForm {
    let socketID: String
    let channelName: String?

    init(_ request: HTTPRequest) throws(APIError) {
        let socketID: String?
        if Self.isJSON(request) {
            let body = try JSONBody(request.body)
            socketID = try body.text("socket_id").value
            channelName = try body.text("channel_name").value
        } else {
            let fields = try FormFields(request.body)
            socketID = fields["socket_id"]
            channelName = fields["channel_name"]
        }
        guard let socketID, SocketID.isWellFormed(socketID), socketID.utf8.count <= 64 else {
            throw APIError(400, "Expected \"socket_id\": digits, a dot, digits")
        }
        self.socketID = socketID
    }

    /// By its type; some clients name none, and a form does not begin with a brace.
    private static func isJSON(_ request: HTTPRequest) -> Bool {
        if let type = request.field(.contentType)?.lowercased() {
            if type.hasPrefix("application/json") { return true }
            if type.hasPrefix("application/x-www-form-urlencoded") { return false }
        }
        return request.body.first == UInt8(ascii: "{")
    }
}

extension JSONWriter {
    fileprivate mutating func userInfo(_ identity: Identity) {
        raw(#"{"name":"#)
        if let name = identity.name { string(name) } else { raw("null") }
        raw("}")
    }
}
