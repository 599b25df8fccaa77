// Rules for apps, channels, the catalogue and token issuers.

extension StringRule {
    /// The id of one of the apps, or empty. The error lists at most ten of the ids.
    static func app(among ids: [String]) -> StringRule {
        let shown = ids.prefix(10)
        let rest = ids.count > shown.count ? " or \(ids.count - shown.count) more" : ""
        let known = Set(ids)
        return StringRule("a configured app's id (\(shown.joined(separator: ", "))\(rest))") { $0.isEmpty || known.contains($0) }
    }

    /// A plain channel name, or the beginning of one and `*`. An entry of `channels` also applies to the private forms
    /// of the channels that its pattern matches, so a pattern has no prefix.
    static let channelPattern = StringRule(
        "1 to 200 characters (letters, digits and any of _-=@,.;), optionally followed by *, not beginning with private-, presence-, cache- or #"
    ) { text in
        let name = text.utf8.last == UInt8(ascii: "*") ? text.utf8.dropLast() : text.utf8[...]
        return (1...200).contains(text.utf8.count)
            && name.allSatisfy { $0.isNameByte || "=@,.;".utf8.contains($0) }
            && !["private-", "presence-", "cache-"].contains { text.hasPrefix($0) }
    }

    static let catalogueName = StringRule(
        "an event's name or a notification's type: 1 to 64 letters, digits, _ or -", accepts: identifier.accepts)

    /// An entry's `issuer` if `auth.jwt` has several entries: a token's `iss` selects the entry that verifies the
    /// token.
    static let issuer = StringRule("an issuer (required if auth.jwt has several entries)", accepts: nonEmpty.accepts)

    static let projectID = StringRule("up to 64 lower-case letters, digits or -") {
        $0.utf8.count <= 64 && $0.utf8.allSatisfy { $0.isLowercase || $0.isDigit || $0 == UInt8(ascii: "-") }
    }

    static let claimName = StringRule("a claim's name of up to 200 printable ASCII characters, or \"\"") {
        $0.utf8.count <= 200 && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Empty, or a cookie's name, which is an HTTP token (RFC 6265): printable ASCII without separators.
    static let sessionCookieName = StringRule("a cookie's name") { !$0.isEmpty && cookieName.accepts($0) }

    static let cookieName = StringRule("a cookie's name, or \"\"") {
        $0.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"()<>@,;:\\\"/[]?={}".utf8.contains($0) }
    }

    /// Empty, or a text with a PEM block that is not a private key. OpenSSL checks the key itself later
    /// (`Settings.unusableKeys` in Gateway).
    static let publicKey = StringRule("a public key in PEM, usually as file:PATH, or \"\"") {
        $0.isEmpty || hasPublicPEMBlock($0)
    }

    /// Plain http is accepted only on loopback: an attacker who replaced the keys in transit could sign tokens for any
    /// identity.
    static let keysURL = StringRule("an https URL, or an http one on loopback", accepts: isKeysURL)

    static let keysURLOrNone = StringRule("an https URL, or an http one on loopback, or \"\"") { $0.isEmpty || isKeysURL($0) }
}

extension StringRule {
    private static func hasPublicPEMBlock(_ text: String) -> Bool {
        let block = /-----BEGIN ([A-Z0-9 ]+)-----\s[A-Za-z0-9+\/=\s]+-----END ([A-Z0-9 ]+)-----/
        return text.matches(of: block).contains { $0.1 == $0.2 && !$0.1.hasSuffix("PRIVATE KEY") }
    }

    @Sendable private static func isKeysURL(_ text: String) -> Bool {
        guard let url = URLParts(text) else { return false }
        return url.scheme == "https" || url.isLoopback
    }
}
