import JSON

extension ServerMessage {
    /// An event that ``event(name:channel:data:)`` encoded, with null for some members of its data, at any depth.
    /// - Returns: the same frame if the data is no text with JSON.
    package static func event(_ frame: Frame, on channel: ChannelName, hiding names: [String]) -> Frame {
        frame.bytes.withUnsafeBytes { bytes in
            var (name, hidden): (UnsafeRawBufferPointer?, [UInt8]?)
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
        let hidden = data.withUnsafeBytes { (try? JSONReader.value($0))?.hiding(names) }
        return ClientEvent(name: name, channel: channel, data: hidden ?? data)
    }
}

extension JSONSlice {
    /// The string whose text is the JSON of this string's text, with null for some members; nil if it has no JSON.
    fileprivate func hiding(_ names: [String]) -> [UInt8]? {
        var hidden: [UInt8]?
        withText { text in
            guard let members = try? HiddenMembers.nulling(names, in: text) else { return }
            var json = JSONWriter(capacity: members.count * 5 / 4)
            json.string(utf8: members)
            hidden = json.bytes
        }
        return hidden
    }
}
