/// The parts of an http or https URL that configuration rules check. The URL has a lower-case scheme and a host, and
/// has neither user info nor a fragment.
struct URLParts {
    let scheme: Substring
    private let host: Substring
    /// Whether there is neither a path nor a query.
    let isBare: Bool

    /// Nil if the text is not such a URL, or is longer than 2,000 bytes.
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

    /// True only for literal loopback addresses and `localhost`; false, for example, for 127.0.0.1.example.com.
    var isLoopback: Bool {
        if host == "[::1]" || host.lowercased() == "localhost" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0).map { "\($0)" } == String($0) }
    }
}
