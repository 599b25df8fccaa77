import HTTP
import Testing

@Suite struct HostAndPortTests {
    private func parse(_ text: String) -> HostAndPort? { HostAndPort(Array(text.utf8)[...]) }

    @Test func readsHostAndPort() {
        for (text, host, port) in [
            ("a.example", "a.example", nil), ("A.example:443", "a.example", 443), ("127.0.0.1:6001", "127.0.0.1", 6001),
            ("[2001:DB8::1]", "[2001:db8::1]", nil), ("[::1]:65535", "[::1]", 65_535), ("a:1", "a", 1),
        ] as [(String, String, UInt16?)] {
            #expect(parse(text)?.host == Array(host.utf8) && parse(text)?.port == port, "\(text)")
        }
    }

    @Test(arguments: [
        "", ":", ":80", "a:", "a:0", "a:080", "a:65536", "a:100000", "a:1:2", "a:x", "a:-1", "a:+1", "[]", "[", "]", "[::1",
        "::1",
        "[::1]x", "[::1]:", "a b", "a,b", "a/", "a@b", "a?b", "a#b", "a\\b", "*", "\"a\"", "a\u{7F}", "a:1 ", "[a]b:1", "a]",
    ]) func rejectsOtherTexts(text: String) { #expect(parse(text) == nil) }

    @Test func knowsThisMachine() {
        for text in ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:6001", "127.255.255.254", "[::1]", "[::1]:6001"] {
            #expect(parse(text)?.isLoopback == true, "\(text)")
        }
        for text in [
            "localhost.", "localhost.evil.example", "127.evil.example", "127.0.0.1.evil.example", "127.1", "0127.0.0.1",
            "128.0.0.1",
            "10.0.0.1", "0.0.0.0", "[::2]", "[127.0.0.1]", "evil.example", "0x7f.0.0.1", "2130706433",
        ] {
            #expect(parse(text)?.isLoopback != true, "\(text)")
        }
    }
}
