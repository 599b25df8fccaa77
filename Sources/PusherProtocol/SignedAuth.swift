/// An `auth` as clients bring it from their backend: `KEY:SIGNATURE`.
struct SignedAuth {
    private let text: String?
    private let purpose: String

    /// - Parameter purpose: what it is for, to be named in errors.
    init(_ text: String?, purpose: String) {
        self.text = text
        self.purpose = purpose
    }

    /// - Parameters:
    ///   - signed: the text that has to be signed.
    ///   - key: the application's key, which the auth has to name.
    ///   - verify: whether a signature is right for a text, compared in constant time.
    /// - Throws: ``ProtocolError`` with code 4009; the connection stays (S11).
    func check(_ signed: String, key: String, _ verify: (String, Substring) -> Bool) throws(ProtocolError) {
        guard let text else {
            throw ProtocolError("\(purpose) needs auth: ask your authorization endpoint", code: 4009)
        }
        // A signature holds no colon, a key might: the last one separates them.
        guard let colon = text.lastIndex(of: ":"), text[..<colon].utf8.elementsEqual(key.utf8) else {
            throw ProtocolError("Invalid auth for \(purpose): expected KEY:SIGNATURE with this application's key", code: 4009)
        }
        guard verify(signed, text[text.index(after: colon)...]) else {
            throw ProtocolError("Invalid signature: expected HMAC SHA256 hex digest of \(signed.clipped)", code: 4009)
        }
    }
}
