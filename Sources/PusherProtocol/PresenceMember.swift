import JSON

/// A member of a presence channel: a user, regardless of the number of connections.
package struct PresenceMember: Equatable, Sendable {
    /// The `user_id`. If it is a JSON number, this is the number as written (protocol point R6).
    package let id: String
    /// The `user_info` as JSON, byte for byte as it was signed; nil if absent (R5).
    package let info: [UInt8]?

    package init(id: String, info: [UInt8]? = nil) {
        self.id = id
        self.info = info
    }

    /// Reads a signed `channel_data` (R1, R8).
    /// - Throws: ``ProtocolError`` if `user_id` is missing, or a value exceeds its limit.
    package init(channelData: String, limits: Limits) throws(ProtocolError) {
        let (id, info) = try Self.read(channelData)
        guard let id, !id.isEmpty else {
            throw ProtocolError("Invalid channel_data: expected user_id to be a string or a number", code: 4009)
        }
        guard id.unicodeScalars.count <= Limits.userIDLength else {
            throw ProtocolError("user_id exceeds the allowed maximum (\(Limits.userIDLength) characters)", code: 4009)
        }
        guard (info?.count ?? 0) <= limits.presenceInfoBytes else {
            throw ProtocolError("user_info exceeds the allowed maximum (\(limits.presenceInfoBytes) bytes)", code: 4009)
        }
        self.init(id: id, info: info)
    }

    private static func read(_ text: String) throws(ProtocolError) -> (id: String?, info: [UInt8]?) {
        var (id, info): (String?, [UInt8]?) = (nil, nil)
        var text = text
        do {
            try text.withUTF8 { bytes in
                try JSONReader.object(UnsafeRawBufferPointer(bytes)) { key, value in
                    if key.equals("user_id") {
                        id = value.kind == .number ? String(decoding: value.raw, as: UTF8.self) : value.string
                    } else if key.equals("user_info") {
                        info = Array(value.raw)
                    }
                }
            }
        } catch {
            throw ProtocolError("Invalid channel_data: expected a JSON object", code: 4009)
        }
        return (id, info)
    }
}
