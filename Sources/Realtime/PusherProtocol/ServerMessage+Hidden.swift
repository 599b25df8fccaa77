import JSON

extension ServerMessage {
    /// An event that ``event(name:channel:data:)`` encoded, with null for some members of its data, at any depth.
    /// - Returns: the same frame if the data is a text without JSON.
    package static func event(_ frame: Frame, on channel: ChannelName, hiding names: [String]) -> Frame {
        frame.bytes.withUnsafeBytes { bytes in
            var name: UnsafeRawBufferPointer?
            // If the frame is not read to its data, the data is hidden as a whole.
            var hidden: [UInt8]? = JSONSlice.null
            try? JSONReader.object(Frame.payload(of: bytes)) { key, value in
                if key.equals("event") { name = value.raw }
                if key.equals("data") { hidden = value.hiding(names) }
            }
            guard let name, let hidden else { return frame }
            return hidden.withUnsafeBytes { event(name: name, channel: channel, data: $0) }
        }
    }
}

extension ClientEvent {
    /// The event with null for some members of its data, at any depth.
    package func hiding(_ names: [String]) -> ClientEvent {
        let hidden = data.withUnsafeBytes { bytes in
            guard let value = try? JSONReader.value(bytes) else { return JSONSlice.null }
            return value.hiding(names) ?? data
        }
        return ClientEvent(name: name, channel: channel, data: hidden)
    }
}

extension JSONSlice {
    fileprivate static let null = Array("null".utf8)

    /// An event's data with null for some members: those of an object or array, or of the JSON in a string. Nil if they have
    /// no members.
    ///
    /// What begins like an object or an array and cannot be read is null as a whole: other parsers may read it, and find in it
    /// what is to be hidden.
    fileprivate func hiding(_ names: [String]) -> [UInt8]? {
        if kind == .object || kind == .array { return (try? HiddenMembers.nulling(names, in: raw)) ?? Self.null }
        var hidden: [UInt8]?
        withText { text in
            let members = try? HiddenMembers.nulling(names, in: text)
            guard let members = members ?? (text.beginsLikeMembers ? Self.null : nil) else { return }
            var json = JSONWriter(capacity: members.count * 5 / 4)
            json.string(utf8: members)
            hidden = json.bytes
        }
        return hidden
    }
}

extension UnsafeRawBufferPointer {
    /// Whether a bracket of an object or array follows white space, control characters and byte order marks.
    fileprivate var beginsLikeMembers: Bool {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        guard let first = first(where: { $0 > 0x20 && !byteOrderMark.contains($0) }) else { return false }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }
}
