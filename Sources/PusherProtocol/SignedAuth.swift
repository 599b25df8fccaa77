/// The `auth` of a client's message, which the client got from its backend: `KEY:SIGNATURE`.
struct SignedAuth {
    private let text: String?
    private let purpose: String

    /// - Parameters:
    ///   - text: the value of `auth`; nil if the message has none.
    ///   - purpose: what the signature authorizes, for error messages: `subscribing to …` or `signin`.
    init(_ text: String?, purpose: String) {
        self.text = text
        self.purpose = purpose
    }

    /// Checks the key and the signature.
    /// - Parameters:
    ///   - signed: the text that the signature must cover.
    ///   - key: the application's key, which `auth` must begin with.
    ///   - verify: returns whether a signature is valid for a text. It must compare in constant time.
    /// - Throws: ``ProtocolError`` with code 4009; the connection stays open (protocol point S11).
    func check(_ signed: String, key: String, _ verify: (String, Substring) -> Bool) throws(ProtocolError) {
        guard let text else {
            throw ProtocolError("Missing auth for \(purpose): get it from your authorization endpoint", code: 4009)
        }
        // The last colon separates key and signature, because a key may contain colons, but a signature does not.
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")), text.utf8[..<colon].elementsEqual(key.utf8) else {
            throw ProtocolError("Invalid auth for \(purpose): expected KEY:SIGNATURE with this application's key", code: 4009)
        }
        guard verify(signed, Substring(text.utf8[colon...].dropFirst())) else {
            throw ProtocolError("Invalid signature: expected HMAC SHA256 hex digest of \(signed.clipped)", code: 4009)
        }
    }
}
