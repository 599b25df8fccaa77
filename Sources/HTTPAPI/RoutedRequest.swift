import Access
import HTTP
import JWT
import PusherProtocol

/// What the router decides when a request's head is complete, before any byte of its body is stored.
package enum Routing {
    /// Send this response. The request is rejected, or needs neither a body nor the gateway.
    case respond(HTTPResponse)
    /// Fetch the keys of this key's issuer, then route the head again.
    case needsKey(MissingKey)
    /// Ask the backend of this opaque token, then route the head again with the answer.
    case needsAnswer(OpaqueToken)
    /// The sender may make this request: read its body, then call ``Router/action(of:request:)``.
    case route(RoutedRequest)
}

/// An authenticated request whose body has not been read. It contains what ``Router/action(of:request:)`` needs of the
/// head, so the bytes of the head need not stay valid.
package struct RoutedRequest {
    /// The size in bytes of the largest body that is read and discarded if ``bodyBytesMax`` is 0. Clients may send a
    /// body with any request (RFC 9110 section 9.3.1); reading a short one is cheaper than a new connection.
    package static let discardedBodyBytesMax = 65_536

    /// The size in bytes of the largest body that this request may have. 0 if the endpoint reads no body.
    package let bodyBytesMax: Int
    /// The JSON format of the path's errors. Nil outside the fleet's API.
    let envelope: Envelope?
    /// How often a client address may make the request; nil: as often as it likes.
    package let addressLimit: AddressLimit?
    /// The sender; nil outside the fleet's API, and at endpoints that ask for no token.
    package let actor: Identity?
    let target: Target

    indirect enum Target {  // so that copies of a request are small
        /// A request that needs no body.
        case action(APIAction)
        /// A query of Pusher's HTTP API. It needs no body, but its signature may cover one, usually the empty one.
        case pusherQuery(APIAction, SignedHead)
        /// A request to Pusher's HTTP API that needs a body.
        case pusher(PusherRoute)
        /// A request to the fleet's API that needs a body. `head` is a copy: the endpoint reads the query and header
        /// fields when the body is complete.
        case fleet(FleetRoute, head: DeferredRequest)
    }

    /// A request that needs no body, outside the fleet's API.
    init(_ action: APIAction) {
        self.init(bodyBytesMax: 0, envelope: nil, target: .action(action))
    }

    init(
        bodyBytesMax: Int, envelope: Envelope?, addressLimit: AddressLimit? = nil, actor: Identity? = nil, target: Target
    ) {
        self.bodyBytesMax = bodyBytesMax
        self.envelope = envelope
        self.addressLimit = addressLimit
        self.actor = actor
        self.target = target
    }

    /// The size in bytes of the largest body that is read: ``bodyBytesMax``, or ``discardedBodyBytesMax`` if that is 0.
    package var readBodyBytesMax: Int { bodyBytesMax > 0 ? bodyBytesMax : Self.discardedBodyBytesMax }
}

/// The limit of requests from one client address, for endpoints that ask for no token.
package enum AddressLimit: Sendable {
    /// Requests that cause an SMS.
    case codes
    /// Codes that were typed.
    case tries
}

/// The maximum size of a request's body, by endpoint.
enum BodyLimit {
    /// The endpoint reads no body.
    case none
    /// 64 KiB: one JSON object with some members; more if the data of an event may be longer as JSON, because texts of a
    /// command become data of an event.
    case object
    /// 256 KiB: the largest documented lists, which are 1,000 names of 150 characters, or 100 events of telemetry.
    case list
    /// A list, and the data of an event as JSON.
    case listAndEventData
    /// 1 MiB: a batch of 200 orders of 5 KiB.
    case batchOfOrders
    /// One event of `POST /apps/ID/events`.
    case event
    /// The events of `POST /apps/ID/batch_events`.
    case batch

    /// The limit in bytes.
    /// - Parameter limits: the application's.
    func bytes(_ limits: Limits) -> Int {
        switch self {
        case .none: 0
        case .object: max(65_536, Self.dataBytes(limits))
        case .list: 262_144
        case .batchOfOrders: 1_048_576
        case .listAndEventData: 262_144 + Self.dataBytes(limits)
        case .event:
            min(Self.bytesMax, Self.eventBytes(limits) + limits.channelsPerEvent * Self.channelBytes(limits))
        case .batch:
            min(Self.bytesMax, limits.batchEvents * (Self.eventBytes(limits) + Self.channelBytes(limits)))
        }
    }

    /// The largest limit in bytes. Limits of events can be configured whose product is gigabytes, but a body is held
    /// in memory.
    private static let bytesMax = 16_777_216

    /// The size in bytes of the largest data of an event, as JSON, which can write a byte as six (`\u0000`).
    private static func dataBytes(_ limits: Limits) -> Int { limits.eventBytes * 6 }

    /// The size in bytes of the largest valid event, as JSON without its channels. JSON can write a character of the name as
    /// twelve (two `\u` escapes for a character beyond U+FFFF). The names of the members, `socket_id`, `info` and white space
    /// have 1,024 bytes.
    private static func eventBytes(_ limits: Limits) -> Int { dataBytes(limits) + limits.nameLength * 12 + 1_024 }

    /// The size in bytes of the longest channel name with its quotes and comma. Only the user ids in
    /// `#server-to-user-` channels have characters that encoders escape.
    private static func channelBytes(_ limits: Limits) -> Int {
        max(limits.nameLength, "#server-to-user-".utf8.count + Limits.userIDLength * 12) + 3
    }
}
