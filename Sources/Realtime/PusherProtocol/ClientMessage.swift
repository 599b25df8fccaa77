import JSON
import Primitives

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
            let data = try envelope.members()
            self = .subscribe(
                SubscriptionRequest(
                    channel: try data.text(data.channel, "channel", cutAbove: Limits.nameBytesMax),
                    auth: data.auth?.string(cutAbove: Limits.authBytesMax), channelData: data.channelData?.string(cutAbove: .max),
                    malformed: data.malformed))
        case "pusher:unsubscribe":
            let data = try envelope.members()
            self = .unsubscribe(channel: try data.text(data.channel, "channel", cutAbove: Limits.nameBytesMax))
        case "pusher:signin":
            let data = try envelope.members(code: 4009)
            self = .signin(
                SigninRequest(
                    auth: try data.text(data.auth, "auth", cutAbove: Limits.authBytesMax),
                    userData: try data.text(data.userData, "user_data")))
        case _ where envelope.event.utf8.starts(with: "client-".utf8):
            let event = envelope.event
            guard let channel = envelope.channel else { throw ProtocolError("\(event.clipped): expected channel to be a string") }
            self = .clientEvent(ClientEvent(name: event, channel: channel, data: envelope.dataAsString))
        default:
            let known = "pusher:subscribe, pusher:unsubscribe, pusher:signin, pusher:ping or client-…"
            throw ProtocolError("Unknown event \(envelope.event.clipped): expected \(known)")
        }
    }
}

/// Those members of a message that the server reads. Borrows the message.
private struct Envelope {
    var event = ""
    /// The channel of a client event.
    var channel: String?
    private var data: JSONSlice?

    init(_ text: UnsafeRawBufferPointer) throws {
        var (name, channel): (JSONSlice?, JSONSlice?) = (nil, nil)
        try JSONReader.object(text) { key, value in
            if key.equals("event") {
                guard value.kind == .string else { throw ProtocolError("Expected event to be a string") }
                name = value
            } else if key.equals("channel") {
                channel = value
            } else if key.equals("data") {
                data = value
            }
        }
        guard let name = name?.string(cutAbove: Limits.nameBytesMax) else { throw ProtocolError("Expected an event") }
        event = name
        self.channel = channel?.string(cutAbove: Limits.nameBytesMax)
    }

    /// The data of a client event as a JSON string. Data of another type becomes a string that contains its JSON (E4).
    /// `null` if the message has no data.
    var dataAsString: [UInt8] {
        guard let data else { return Array("null".utf8) }
        if data.kind == .string { return Array(data.raw) }
        var json = JSONWriter(capacity: data.raw.count + 16)
        json.string(utf8: data.raw)
        return json.bytes
    }

    /// The data of a `pusher:` event. Client events need not be read: their data is copied as it is.
    /// - Parameter code: the code of errors about the data.
    /// - Throws: ``ProtocolError`` if the data is not an object.
    func members(code: Int? = nil) throws(ProtocolError) -> DataMembers {
        guard let data, data.kind == .object, let members = try? DataMembers(data, event: event, code: code) else {
            throw ProtocolError("\(event): expected data to be an object", code: code)
        }
        return members
    }
}

/// The members of a `pusher:` event's data. Of a member that occurs twice, the last counts.
private struct DataMembers {
    private(set) var channel: JSONSlice?
    private(set) var auth: JSONSlice?
    private(set) var channelData: JSONSlice?
    private(set) var userData: JSONSlice?
    /// For error messages.
    private let event: String
    private let code: Int?

    init(_ object: JSONSlice, event: String, code: Int?) throws {
        self.event = event
        self.code = code
        try JSONReader.object(object.raw) { key, value in
            if key.equals("channel") {
                channel = value
            } else if key.equals("auth") {
                auth = value
            } else if key.equals("channel_data") {
                channelData = value
            } else if key.equals("user_data") {
                userData = value
            }
        }
    }

    /// A string member.
    /// - Parameters:
    ///   - name: as in the message, for the error.
    ///   - bytesMax: see ``JSONSlice/string(cutAbove:)``.
    func text(_ member: JSONSlice?, _ name: String, cutAbove bytesMax: Int = .max) throws(ProtocolError) -> String {
        guard let text = member?.string(cutAbove: bytesMax) else {
            throw ProtocolError("\(event): expected data.\(name) to be a string", code: code)
        }
        return text
    }

    /// Those members of a subscription that are present, and neither a string nor null.
    var malformed: Set<SubscriptionRequest.Member> {
        var malformed: Set<SubscriptionRequest.Member> = []
        if auth?.isNoText == true { malformed.insert(.auth) }
        if channelData?.isNoText == true { malformed.insert(.channelData) }
        return malformed
    }
}

extension JSONSlice {
    fileprivate var isNoText: Bool { kind != .string && kind != .null }
}

extension String {
    /// Whether all bytes are ASCII. Check this before you compare input with a literal: Swift compares strings that are
    /// not ASCII by canonical equivalence (U+212A equals K), in time quadratic in a character's combining marks.
    package var isASCII: Bool { withBytes { $0.allSatisfy { $0 < 0x80 } } }

    /// The text as quoted in errors: if it exceeds 200 bytes, only its first 100 Unicode scalars and `…`. Scalars are
    /// counted, not characters, because one character may be arbitrarily long.
    package var clipped: String {
        guard utf8.count > 200 else { return self }
        // 100 scalars have at most 400 bytes. Bytes are counted, because the views of scalars are slow.
        return withBytes { bytes in
            var (end, scalars) = (0, 0)
            while end < bytes.count {
                if bytes[end] & 0xC0 != 0x80 { scalars += 1 }
                if scalars > 100 { break }
                end += 1
            }
            return String(decoding: UnsafeRawBufferPointer(rebasing: bytes[..<end]), as: UTF8.self) + "…"
        }
    }
}
