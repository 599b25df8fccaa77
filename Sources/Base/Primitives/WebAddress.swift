extension String {
    /// Whether the text is an `http` or `https` URL with a host and without a user, of at most 2,048 printable ASCII
    /// characters (RFC 3986). It is shown to admins, but never fetched by the gateway.
    package var isWebAddress: Bool {
        guard utf8.count <= 2_048, utf8.allSatisfy({ 0x21...0x7E ~= $0 && !#""<>\^`{|}"#.utf8.contains($0) }) else {
            return false
        }
        // ASCII, so that operations on characters take linear time.
        let rest: Substring
        switch lowercased() {
        case let text where text.hasPrefix("http://"): rest = dropFirst(7)
        case let text where text.hasPrefix("https://"): rest = dropFirst(8)
        default: return false
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return !authority.isEmpty && authority.first != ":" && !authority.contains("@")
    }

    /// Whether the text looks like an e-mail address: at most 254 bytes, one `@`, a local part of at most 64 bytes, and a
    /// domain of at least two labels. Only a message to the address could tell whether it exists.
    package var isEmailAddress: Bool {
        guard utf8.count <= 254, utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !#""(),:;<>[\]"#.utf8.contains($0) }) else {
            return false
        }
        let parts = utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2, (1...64).contains(parts[0].count) else { return false }
        let labels = parts[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return labels.count >= 2
            && labels.allSatisfy { label in
                (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
            }
    }
}
