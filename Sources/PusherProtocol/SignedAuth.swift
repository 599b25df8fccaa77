/// An `auth` value as the client's backend made it: `KEY:SIGNATURE`.
struct SignedAuth {
    private let text: String?
    private let purpose: String

    /// - Parameter purpose: what the signature authorizes, for error messages.
    init(_ text: String?, purpose: String) {
        self.text = text
        self.purpose = purpose
    }

    /// - Parameters:
    ///   - signed: the text that the signature must cover.
    ///   - key: the application's key, which `auth` must begin with.
    ///   - verify: whether a signature is valid for a text; compares in constant time.
    /// - Throws: ``ProtocolError`` with code 4009; the connection stays open (S11).
    func check(_ signed: String, key: String, _ verify: (String, Substring) -> Bool) throws(ProtocolError) {
        guard let text else {
            throw ProtocolError("\(purpose) requires auth: get it from your authorization endpoint", code: 4009)
        }
        // The last colon separates them: a signature contains none, a key may.
        guard let colon = text.lastIndex(of: ":"), text[..<colon].utf8.elementsEqual(key.utf8) else {
            throw ProtocolError("Invalid auth for \(purpose): expected KEY:SIGNATURE with this application's key", code: 4009)
        }
        guard verify(signed, text[text.index(after: colon)...]) else {
            throw ProtocolError("Invalid signature: expected HMAC SHA256 hex digest of \(signed.clipped)", code: 4009)
        }
    }
}
