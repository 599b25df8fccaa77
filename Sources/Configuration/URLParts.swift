/// An http or https URL as far as the configuration cares: its scheme is in lower case, its host is there, and neither user
/// info nor fragment is.
struct URLParts {
    let scheme: Substring
    private let host: Substring
    /// Whether neither path nor query follows.
    let isBare: Bool

    /// Nil when the text is no such URL, or longer than 2,000 bytes.
    init?(_ text: String) {
        let form =
            #/
            (https?):// ([A-Za-z0-9_.\-]+ | \[[0-9A-Fa-f:.]+\]) (?: : ([1-9][0-9]{0,4}) )?
            ( [/?] [!$%&'()*+,;=:@/?A-Za-z0-9_.~\-]* )?
            /#
        guard text.utf8.count <= 2_000, let match = text.wholeMatch(of: form),
            match.3.flatMap({ Int($0) }) ?? 0 <= 65_535
        else { return nil }
        (scheme, host, isBare) = (match.1, match.2, match.4 == nil)
    }

    /// Only what cannot be a name that somebody else owns: 127.0.0.1.example.com is one.
    var isLoopback: Bool {
        if host == "[::1]" || host.lowercased() == "localhost" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0).map { "\($0)" } == String($0) }
    }
}
