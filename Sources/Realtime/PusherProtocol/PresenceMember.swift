import JSON
import Primitives

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
        let member = channelData.withBytes { bytes in
            Result { () throws(ProtocolError) in try PresenceMember(bytes, limits) }
        }
        self = try member.get()
    }

    private init(_ channelData: UnsafeRawBufferPointer, _ limits: Limits) throws(ProtocolError) {
        let (id, info) = try Self.read(channelData)
        guard let id, !id.isEmpty else {
            throw ProtocolError("Invalid channel_data: expected user_id to be a string or a number", code: 4009, refusal: .member)
        }
        guard id.unicodeScalars.count <= Limits.userIDLength else {
            throw ProtocolError(
                "user_id exceeds the allowed maximum (\(Limits.userIDLength) characters)", code: 4009, refusal: .member)
        }
        guard info?.isWithin(limits.presenceInfoBytes) ?? true else {
            throw ProtocolError(
                "user_info exceeds the allowed maximum (\(limits.presenceInfoBytes) bytes)", code: 4009, refusal: .member)
        }
        self.init(id: id, info: info.map { Array($0.raw) })
    }

    private static func read(
        _ text: UnsafeRawBufferPointer
    ) throws(ProtocolError) -> (id: String?, info: JSONSlice?) {
        var (id, info): (JSONSlice?, JSONSlice?) = (nil, nil)
        do {
            try JSONReader.object(text) { key, value in
                if key.equals("user_id") {
                    id = value
                } else if key.equals("user_info") {
                    info = value
                }
            }
        } catch {
            throw ProtocolError("Invalid channel_data: expected a JSON object", code: 4009, refusal: .member)
        }
        return (id.flatMap(text(ofID:)), info)
    }

    private static func text(ofID id: JSONSlice) -> String? {
        guard id.kind == .number else { return id.string(cutAbove: Limits.nameBytesMax) }
        return String(decoding: id.raw.prefix(Limits.nameBytesMax), as: UTF8.self)
    }
}

extension JSONSlice {
    /// Whether a `user_info` is within its limit, which counts what its escapes represent: otherwise backends whose JSON
    /// libraries escape all but ASCII would have a fraction of the room.
    func isWithin(_ bytesMax: Int) -> Bool { raw.count <= bytesMax || JSONEscapes.decodedCount(of: raw) <= bytesMax }
}
