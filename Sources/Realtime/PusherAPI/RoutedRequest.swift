import HTTP
import PusherProtocol

/// What the router decides when a request's head is complete, before any byte of its body is stored.
package enum Routing {
    /// Send this response. The request is rejected, or needs neither a body nor the gateway.
    case respond(HTTPResponse)
    /// Learn this, then route the head again.
    case needs(any MissingFact)
    /// The sender may make this request: read its body, then call ``RoutedRequest/action``.
    case route(RoutedRequest)
}

/// An authenticated request whose body has not been read. It contains what its action needs of the head, so the bytes of
/// the head need not stay valid.
package struct RoutedRequest {
    /// The size in bytes of the largest body that is read and discarded if ``bodyBytesMax`` is 0. Clients may send a
    /// body with any request (RFC 9110 section 9.3.1); reading a short one is cheaper than a new connection.
    package static let discardedBodyBytesMax = 65_536

    /// The size in bytes of the largest body that this request may have. 0 if the endpoint reads no body.
    package let bodyBytesMax: Int
    /// How often a client address may make the request; nil: as often as it likes.
    package let addressLimit: AddressLimit?
    /// The sender, for log lines; nil if the endpoint asks for no credentials of a person.
    package let actor: String?
    /// The action of the complete request, whose body must not exceed ``bodyBytesMax``. An invalid body leads to
    /// ``APIAction/respond(_:)`` with the error.
    package let action: (_ body: UnsafeRawBufferPointer) -> APIAction

    package init(
        bodyBytesMax: Int = 0, addressLimit: AddressLimit? = nil, actor: String? = nil,
        action: @escaping (_ body: UnsafeRawBufferPointer) -> APIAction
    ) {
        self.bodyBytesMax = bodyBytesMax
        self.addressLimit = addressLimit
        self.actor = actor
        self.action = action
    }

    /// The size in bytes of the largest body that is read: ``bodyBytesMax``, or ``discardedBodyBytesMax`` if that is 0.
    package var readBodyBytesMax: Int { bodyBytesMax > 0 ? bodyBytesMax : Self.discardedBodyBytesMax }
}

/// A limit of requests from one client address, for endpoints that ask for no credentials. An extension counts them.
package struct AddressLimit: Equatable, Sendable {
    package let name: String

    package init(_ name: String) { self.name = name }
}

extension Limits {
    /// The size in bytes of the largest body of an endpoint that takes one JSON object with some members: 64 KiB, or more if
    /// the data of an event may be longer as JSON, because texts of the object may become data of an event.
    package var objectBytes: Int { max(65_536, dataBytes) }

    /// The size in bytes of the largest body of `POST /apps/ID/events`.
    package var eventBodyBytes: Int { min(Self.bodyBytesMax, encodedEventBytes + channelsPerEvent * encodedChannelBytes) }

    /// The size in bytes of the largest body of `POST /apps/ID/batch_events`.
    package var batchBodyBytes: Int { min(Self.bodyBytesMax, batchEvents * (encodedEventBytes + encodedChannelBytes)) }

    /// The largest limit in bytes. Limits of events can be configured whose product is gigabytes, but a body is held
    /// in memory.
    private static let bodyBytesMax = 16_777_216

    /// The size in bytes of the largest data of an event, as JSON, which can write a byte as six (`\u0000`).
    package var dataBytes: Int { eventBytes * 6 }

    /// The size in bytes of the largest valid event, as JSON without its channels. JSON can write a character of the name as
    /// twelve (two `\u` escapes for a character beyond U+FFFF). The names of the members, `socket_id`, `info` and white space
    /// have 1,024 bytes.
    private var encodedEventBytes: Int { dataBytes + nameLength * 12 + 1_024 }

    /// The size in bytes of the longest channel name with its quotes and comma. Only the user ids in
    /// `#server-to-user-` channels have characters that encoders escape.
    private var encodedChannelBytes: Int { max(nameLength, "#server-to-user-".utf8.count + Self.userIDLength * 12) + 3 }
}
