import JSON

/// An event that a client sends to the other subscribers of a channel (protocol points E1–E9).
package struct ClientEvent: Equatable, Sendable {
    /// The event's name, which begins with `client-`.
    package let name: String
    /// The channel's name as sent; ``target(isEnabled:limits:)`` checks it.
    package let channel: String
    /// A JSON string, quotes and escapes included, or `null`.
    package let data: [UInt8]

    package init(name: String, channel: String, data: [UInt8]) {
        self.name = name
        self.channel = channel
        self.data = data
    }

    /// Checks that client events are enabled, that the event is not too large, and that its channel permits client
    /// events. The hub checks that the sender is subscribed.
    /// - Returns: the event's channel.
    /// - Throws: ``ProtocolError`` for the sender; the event is then dropped.
    package func target(isEnabled: Bool, limits: Limits) throws(ProtocolError) -> ChannelName {
        guard isEnabled else {
            throw ProtocolError("To send client events, you must enable this feature in the application's configuration")
        }
        guard name.unicodeScalars.count <= limits.nameLength else {
            throw ProtocolError("The name of this event exceeds the allowed maximum (\(limits.nameLength) characters)")
        }
        // Decoding only shortens data, so it is needed only if the escaped form, without its two quotes, exceeds the
        // limit, which is rare.
        guard data.count - 2 <= limits.eventBytes || dataBytes <= limits.eventBytes else {
            throw ProtocolError("The data content of this event exceeds the allowed maximum (\(limits.eventBytes) bytes)")
        }
        guard let channel = ChannelName(channel, lengthMax: limits.nameLength) else {
            throw ProtocolError("Invalid channel name \(channel.clipped)")
        }
        switch channel.access {
        case .signed, .presence: return channel
        case .encrypted: throw ProtocolError("Client events are not supported on encrypted channels")
        case .open, .user: throw ProtocolError("Client events are only supported on private and presence channels")
        }
    }

    /// The length of the data in UTF-8 bytes, with its escapes decoded. 0 if the data is `null`.
    private var dataBytes: Int {
        data.withUnsafeBytes { bytes in (try? JSONReader.value(bytes).stringByteCount) ?? 0 }
    }
}
