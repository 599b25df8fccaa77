import Access
import Crypto
import FanOut
import HTTP
import JSON
import PusherAPI
import PusherProtocol

/// `POST /pusher/auth`: signs a subscription of one connection to one channel (protocol points S10, R7).
package struct ChannelAuthorization: Sendable {
    package let identity: Identity
    package let channel: ChannelName
    /// Nil if no Fleetwire server can have issued this `socket_id`.
    package let socket: SocketID?
    /// The client's name of its device (`device_id`); empty if it sends none.
    package let device: String
    package let app: AppIndex
    /// The response if the identity may subscribe.
    package let granted: HTTPResponse

    /// Why the state of a driver's account refuses all but the driver's own channel; nil if it does not.
    private let restriction: String?

    /// The response if the identity may not subscribe.
    package var refused: HTTPResponse {
        Envelope.error.error(403, restriction ?? "\(identity.key.clipped) may not subscribe to \(channel.text)")
    }

    init(_ request: HTTPRequest, _ identity: Identity, _ router: FleetRouter) throws(APIError) {
        let app = router.app
        restriction = router.accounts?.restriction(of: identity)?.summary
        let form = try AuthorizationForm(request)
        guard let text = form.channelName else { throw .missing("channel_name", "a string") }
        guard let channel = ChannelName(text, lengthMax: app.limits.nameLength) else {
            throw .invalid("channel_name", "be a channel name; found \(text.clipped)")
        }
        self.identity = identity
        self.channel = channel
        self.app = app.index
        socket = SocketID(form.socketID)
        device = form.deviceID
        switch channel.access {
        case .open, .user: throw APIError(403, "\(channel.text) needs no signature: only private- and presence- channels do")
        case .signed, .encrypted, .presence: break
        }
        let member = channel.isPresence ? Self.channelData(identity) : nil
        let signed = SigningText.subscription(form.socketID, channel, channelData: member)
        var json = JSONWriter()
        let secret = channel.access == .encrypted ? app.sharedSecret(of: channel) : nil
        guard channel.access != .encrypted || secret != nil else {
            throw APIError(403, "\(channel.text) needs encryption_master_key, which application \(app.id) does not have")
        }
        json.object {
            $0.member("auth", app.key + ":" + app.sign(signed))
            $0.member("channel_data", ifPresent: member)
            $0.member("shared_secret", ifPresent: secret)
        }
        granted = .json(200, json.bytes)
    }

    /// The presence data of a member: the user id (`role:sub`) and the name.
    private static func channelData(_ identity: Identity) -> String {
        var json = JSONWriter()
        json.object {
            $0.member("user_id", identity.key)
            $0.member("user_info") { $0.member("name", identity.name) }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

/// `POST /pusher/user-auth`: signs the data with which a connection signs in as a user (protocol point U1).
package struct UserAuthentication: Sendable {
    package let identity: Identity
    /// Nil if no Fleetwire server can have issued this `socket_id`.
    package let socket: SocketID?
    /// The client's name of its device (`device_id`); empty if it sends none.
    package let device: String
    package let response: HTTPResponse

    init(_ request: HTTPRequest, _ identity: Identity, _ app: Application) throws(APIError) {
        let form = try AuthorizationForm(request)
        guard identity.key.unicodeScalars.count <= Limits.userIDLength else {
            throw APIError(403, "Cannot sign in with a user id (role:sub) of more than \(Limits.userIDLength) characters")
        }
        var user = JSONWriter()
        user.object {
            $0.member("id", identity.key)
            $0.member("user_info") { $0.member("name", identity.name) }
            if identity.role == .customer { $0.member("bookings", identity.bookings) }
        }
        let userData = String(decoding: user.bytes, as: UTF8.self)
        var json = JSONWriter()
        json.object {
            $0.member("auth", app.key + ":" + app.sign(SigningText.signin(form.socketID, userData: userData)))
            $0.member("user_data", userData)
        }
        response = .json(200, json.bytes)
        (self.identity, socket, device) = (identity, SocketID(form.socketID), form.deviceID)
    }
}

/// The body of an authorization request: a form, or JSON with the same names.
private struct AuthorizationForm {
    let socketID: String
    let channelName: String?
    /// Empty if there is none.
    let deviceID: String

    init(_ request: HTTPRequest) throws(APIError) {
        let socketID: String?
        let device: String?
        if Self.isJSON(request.body) {
            let body = try JSONBody(request.body)
            socketID = try body.text("socket_id").value
            channelName = try body.text("channel_name").value
            device = try body.text("device_id").value
        } else {
            let fields = try FormFields(request.body, names: ["socket_id", "channel_name", "device_id"])
            socketID = fields["socket_id"]
            channelName = fields["channel_name"]
            device = fields["device_id"]
        }
        // 64 bytes are more than the id of any connection has.
        guard let socketID, SocketID.isWellFormed(socketID), socketID.utf8.count <= 64 else {
            throw APIError(400, "Expected \"socket_id\": digits, a dot, digits")
        }
        self.socketID = socketID
        // Some SDKs can add parameters to the endpoint's URL only.
        let deviceID = device ?? request.queryValue("device_id")
        guard deviceID.map(Self.isDeviceID) ?? true else {
            throw .invalid("device_id", "be 1 to 64 of A-Z a-z 0-9 . _ -")
        }
        self.deviceID = deviceID ?? ""
    }

    private static func isDeviceID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// Decides by the first byte that is not white space: a form does not begin with a brace. Content types do not tell: some
    /// clients label all bodies as forms, some label forms as JSON.
    private static func isJSON(_ body: UnsafeRawBufferPointer) -> Bool {
        let start = body.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0  // a byte order mark
        return body[start...].first { $0 > 0x20 } == UInt8(ascii: "{")
    }
}
