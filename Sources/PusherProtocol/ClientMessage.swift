import JSON

/// A decoded message from a client.
package enum ClientMessage: Equatable, Sendable {
    case ping
    case pong
    case subscribe(SubscriptionRequest)
    case unsubscribe(channel: String)
    case signin(SigninRequest)
    case clientEvent(ClientEvent)

    /// Decodes one text message.
    /// - Throws: ``ProtocolError`` for the client (protocol points M1, M2).
    package init(_ text: UnsafeRawBufferPointer) throws(ProtocolError) {
        let envelope: Envelope
        do {
            envelope = try Envelope(text)
        } catch let error as JSONError {
            throw ProtocolError("Invalid JSON at byte \(error.offset): \(error.problem)")
        } catch {
            throw error as? ProtocolError ?? ProtocolError("Invalid message")
        }
        switch envelope.event.isASCII ? envelope.event : "" {
        case "pusher:ping": self = .ping
        case "pusher:pong": self = .pong
        case "pusher:subscribe":
            self = .subscribe(
                SubscriptionRequest(
                    channel: try envelope.text("channel"),
                    auth: try envelope.optionalText("auth"),
                    channelData: try envelope.optionalText("channel_data")))
        case "pusher:unsubscribe": self = .unsubscribe(channel: try envelope.text("channel"))
        case "pusher:signin":
            self = .signin(
                SigninRequest(auth: try envelope.text("auth", code: 4009), userData: try envelope.text("user_data", code: 4009)))
        case _ where envelope.event.utf8.starts(with: "client-".utf8):
            let event = envelope.event
            guard let channel = envelope.channel else { throw ProtocolError("\(event.clipped): expected channel to be a string") }
            self = .clientEvent(ClientEvent(name: event, channel: channel, data: envelope.data))
        default:
            throw ProtocolError(
                "Unknown event \(envelope.event.clipped): expected pusher:subscribe, pusher:unsubscribe, pusher:signin, pusher:ping or client-…"
            )
        }
    }
}

/// Those members of a message that the server reads.
private struct Envelope {
    var event = ""
    /// The channel of a client event.
    var channel: String?
    /// The data of a client event as a JSON string. Data of another type becomes a string that contains its JSON (E4).
    /// `null` if the message has no data.
    var data: [UInt8] = Array("null".utf8)
    private var isDataObject = false
    /// The members of the data, if it is an object.
    private var dataMembers: [(name: String, value: Value)] = []

    enum Value {
        case text(String)
        case null, other
    }

    init(_ text: UnsafeRawBufferPointer) throws {
        var name: String?
        try JSONReader.object(text) { key, value in
            if key.equals("event") {
                guard let text = value.string else { throw ProtocolError("Expected event to be a string") }
                name = text
            } else if key.equals("channel") {
                channel = value.string
            } else if key.equals("data") {
                isDataObject = value.kind == .object
                dataMembers = isDataObject ? try Self.members(of: value.raw) : []
                data = Self.asString(value)
            }
        }
        guard let name else { throw ProtocolError("Expected an event") }
        event = name
    }

    private static func asString(_ value: JSONSlice) -> [UInt8] {
        if value.kind == .string { return Array(value.raw) }
        var json = JSONWriter(capacity: value.raw.count + 16)
        json.string(utf8: value.raw)
        return json.bytes
    }

    func text(_ name: String, code: Int? = nil) throws(ProtocolError) -> String {
        guard let text = try optionalText(name, code: code) else {
            throw ProtocolError("\(event): expected data.\(name) to be a string", code: code)
        }
        return text
    }

    func optionalText(_ name: String, code: Int? = nil) throws(ProtocolError) -> String? {
        guard isDataObject else { throw ProtocolError("\(event): expected data to be an object", code: code) }
        switch dataMembers.last(where: { $0.name.utf8.elementsEqual(name.utf8) })?.value {
        case .text(let text): return text
        case .null, nil: return nil
        case .other: throw ProtocolError("\(event): expected data.\(name) to be a string", code: code)
        }
    }

    private static func members(of object: UnsafeRawBufferPointer) throws -> [(name: String, value: Value)] {
        var members: [(name: String, value: Value)] = []
        try JSONReader.object(object) { key, value in
            let member: Value = value.string.map(Value.text) ?? (value.kind == .null ? .null : .other)
            members.append((key.string ?? "", member))
        }
        return members
    }
}

extension String {
    /// Whether all bytes are ASCII. Check this before you compare input with a literal: Swift compares strings that are
    /// not ASCII by canonical equivalence (U+212A equals K), in time quadratic in a character's combining marks.
    package var isASCII: Bool { utf8.allSatisfy { $0 < 0x80 } }

    /// The text as quoted in errors: if it exceeds 200 bytes, only its first 100 Unicode scalars and `…`. Scalars are
    /// counted, not characters, because one character may be arbitrarily long.
    package var clipped: String { utf8.count <= 200 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(100))) + "…" }
}
