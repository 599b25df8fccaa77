import HTTPClient
import JSON

// Lenient parsing of providers' responses: an unexpected value counts as absent, and the HTTP status then decides the
// result.

extension HTTPClientResponse {
    /// Visits the members of the body, a JSON object; none if the body is not valid JSON as a whole.
    func readMembers(_ member: (_ key: JSONSlice, _ value: JSONSlice) -> Void) {
        body.withUnsafeBytes { bytes in
            guard let value = try? JSONReader.value(bytes) else { return }
            value.readMembers(member)
        }
    }
}

extension JSONSlice {
    /// Visits the members of an object; none if it is not an object.
    func readMembers(_ member: (_ key: JSONSlice, _ value: JSONSlice) -> Void) {
        try? JSONReader.object(raw) { member($0, $1) }
    }

    /// Visits the elements of an array; none if it is not an array.
    func readElements(_ element: (JSONSlice) -> Void) {
        try? JSONReader.array(raw) { element($0) }
    }

    /// A provider's reason code, safe for logs and labels: 1 to 64 letters, `_` and `.`; nil for anything else. Digits
    /// are excluded because device tokens contain digits: if a response quotes a token, the token must not be logged.
    var reasonCode: String? {
        guard let text = string, (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isReasonByte) else { return nil }
        return text
    }

    /// The last part of a resource name such as `projects/p/messages/1`, which is FCM's id of the message as phones know
    /// it. At most 256 bytes, else nil.
    var messageID: String? {
        guard let id = string?.utf8.split(separator: UInt8(ascii: "/")).last, id.count <= 256 else { return nil }
        return String(Substring(id))
    }

    private static func isReasonByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }
}
