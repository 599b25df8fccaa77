import PusherProtocol
import Testing

@Suite struct ChannelNameTests {
    private static let lengthMax = Limits().nameLength

    /// PROTOCOL S8.
    private static let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=@,.;".unicodeScalars)

    @Test func holdsEveryAllowedCharacterAndNoOther() {
        for value in UInt8.min...UInt8.max {
            let scalar = Unicode.Scalar(value)
            for text in ["\(scalar)", "a\(scalar)", "\(scalar)a", "a\(scalar)a"] {
                let name = ChannelName(text, lengthMax: Self.lengthMax)
                #expect((name != nil) == Self.allowed.contains(scalar), "\(value)")
                #expect(name == nil || name?.text == text)
            }
        }
    }

    static let lookalikes = [
        "é", "日本", "😀", "e\u{301}", "\u{212A}", "\u{37E}", "ａ", "a\u{200B}", "a\u{0}b", "a\r\nb", "#server-to-user-1",
    ]

    @Test(arguments: lookalikes)
    func refusesWhatOnlyLooksAllowed(text: String) {
        #expect(ChannelName(text, lengthMax: Self.lengthMax) == nil)
        #expect(ChannelName("private-" + text, lengthMax: Self.lengthMax) == nil)
    }

    @Test func isBetweenOneAndTheLimit() {
        #expect(ChannelName("", lengthMax: 200) == nil)
        #expect(ChannelName("a", lengthMax: 200) != nil)
        #expect(ChannelName(String(repeating: "a", count: 200), lengthMax: 200) != nil)
        #expect(ChannelName(String(repeating: "a", count: 201), lengthMax: 200) == nil)
        #expect(ChannelName("a", lengthMax: 1) != nil)
        #expect(ChannelName("aa", lengthMax: 1) == nil)
    }

    @Test func countsThePrefix() {
        #expect(ChannelName("private-" + String(repeating: "a", count: 192), lengthMax: 200) != nil)
        #expect(ChannelName("private-" + String(repeating: "a", count: 193), lengthMax: 200) == nil)
    }

    @Test func tellsCasesApart() {
        let lower = ChannelName("abc", lengthMax: 200)
        #expect(lower != nil && lower == ChannelName("abc", lengthMax: 3))
        #expect(lower != ChannelName("Abc", lengthMax: 200))
    }

    static let accesses: [(name: String, access: ChannelName.Access)] = [
        ("news", .open), ("0", .open), ("private", .open), ("presence", .open), ("privatenews", .open), ("Private-news", .open),
        ("PRIVATE-news", .open), ("cache-news", .open), ("my-private-news", .open), ("my-presence-news", .open),
        ("-private-", .open), ("cache-private-news", .open),
        ("private-news", .signed), ("private-", .signed), ("private-encrypted-news", .signed), ("private-cache-news", .signed),
        ("private-encrypted-cache-news", .signed), ("private-presence-news", .signed), ("private--", .signed),
        ("presence-news", .presence), ("presence-", .presence), ("presence-cache-news", .presence),
        ("presence-private-news", .presence),
    ]

    @Test(arguments: accesses) func asksOfASubscriberWhatItsPrefixSays(name: String, access: ChannelName.Access) {
        #expect(ChannelName(name, lengthMax: Self.lengthMax)?.access == access)
    }
}
