import HTTPClient
import JSON

// What providers answer is read leniently: what is not as expected is not there, and the status decides.

extension HTTPClientResponse {
    /// The members of the body's object; none unless all of it is JSON.
    func readMembers(_ member: (_ key: JSONSlice, _ value: JSONSlice) -> Void) {
        body.withUnsafeBytes { bytes in
            guard let value = try? JSONReader.value(bytes) else { return }
            value.readMembers(member)
        }
    }
}

extension JSONSlice {
    /// The members of an object; none of anything else.
    func readMembers(_ member: (_ key: JSONSlice, _ value: JSONSlice) -> Void) {
        try? JSONReader.object(raw) { member($0, $1) }
    }

    /// The elements of an array; none of anything else.
    func readElements(_ element: (JSONSlice) -> Void) {
        try? JSONReader.array(raw) { element($0) }
    }

    /// A provider's word for something, fit for logs and labels; nil for anything that is no such word. None has digits,
    /// and a token has: one that is sent back must not come into a log that way.
    var reasonCode: String? {
        guard let text = string, (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isOfWord) else { return nil }
        return text
    }

    /// What a provider calls a message, if that is something to keep.
    var messageID: String? {
        guard let text = string, text.utf8.count <= 256 else { return nil }
        return text
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }
}
