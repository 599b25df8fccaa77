import Primitives

/// The `auth` of a client's message, which the client got from its backend: `KEY:SIGNATURE`.
struct SignedAuth {
    private let text: String?
    private let channel: String?

    /// - Parameters:
    ///   - text: the value of `auth`; nil if the message has none.
    ///   - channel: the channel for error messages; nil for a sign-in.
    init(_ text: String?, subscribingTo channel: String? = nil) {
        self.text = text
        self.channel = channel
    }

    private var purpose: String { channel.map { "subscribing to \($0)" } ?? "signin" }

    /// Checks the key and the signature.
    /// - Parameters:
    ///   - signed: the text that the signature must cover.
    ///   - key: the application's key, which `auth` must begin with.
    ///   - verify: returns whether a signature is valid for a text. It must compare in constant time.
    /// - Throws: ``ProtocolError`` with code 4009; the connection stays open (protocol point S11).
    func check(_ signed: String, key: String, _ verify: (String, Substring) -> Bool) throws(ProtocolError) {
        guard let text else {
            throw ProtocolError(
                "Missing auth for \(purpose): get it from your authorization endpoint", code: 4009, refusal: .missingAuth)
        }
        // The last colon separates key and signature, because a key may contain colons, but a signature does not.
        let hasKey = text.withBytes { text in
            guard let colon = text.lastIndex(of: UInt8(ascii: ":")) else { return false }
            return UnsafeRawBufferPointer(rebasing: text[..<colon]).hasSameBytes(as: key)
        }
        guard hasKey else {
            throw ProtocolError(
                "Invalid auth for \(purpose): expected KEY:SIGNATURE with this application's key", code: 4009, refusal: .otherKey)
        }
        guard verify(signed, Substring(text.utf8.dropFirst(key.utf8.count + 1))) else {
            throw ProtocolError(
                "Invalid signature: expected HMAC SHA256 hex digest of \(signed.clipped)", code: 4009, refusal: .signature)
        }
    }
}
