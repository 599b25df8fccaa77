import PusherProtocol
import Testing

@Suite struct ChannelNameTests {
    private static let lengthMax = Limits().nameLength

    /// The characters of which a channel name may consist (protocol point S8).
    private static let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=@,.;".unicodeScalars)

    @Test func acceptsOnlyTheAlphabet() {
        for value in UInt8.min...UInt8.max {
            let scalar = Unicode.Scalar(value)
            for text in ["\(scalar)", "a\(scalar)", "\(scalar)a", "a\(scalar)a"] {
                let name = ChannelName(text, lengthMax: Self.lengthMax)
                #expect((name != nil) == Self.allowed.contains(scalar), "\(value)")
                #expect(name == nil || name?.text == text)
            }
        }
    }

    static let invalid = [
        "é", "日本", "😀", "e\u{301}", "\u{212A}", "\u{37E}", "ａ", "a\u{200B}", "a\u{0}b", "a\r\nb", "#server-to-users", "#",
    ]

    @Test(arguments: invalid)
    func rejectsOtherCharacters(text: String) {
        #expect(ChannelName(text, lengthMax: Self.lengthMax) == nil)
        #expect(ChannelName("private-" + text, lengthMax: Self.lengthMax) == nil)
    }

    @Test func enforcesTheLength() {
        #expect(ChannelName("", lengthMax: 200) == nil)
        #expect(ChannelName("a", lengthMax: 200) != nil)
        #expect(ChannelName(String(repeating: "a", count: 200), lengthMax: 200) != nil)
        #expect(ChannelName(String(repeating: "a", count: 201), lengthMax: 200) == nil)
        #expect(ChannelName("a", lengthMax: 1) != nil)
        #expect(ChannelName("aa", lengthMax: 1) == nil)
    }

    @Test func countsThePrefixTowardsTheLength() {
        #expect(ChannelName("private-" + String(repeating: "a", count: 192), lengthMax: 200) != nil)
        #expect(ChannelName("private-" + String(repeating: "a", count: 193), lengthMax: 200) == nil)
    }

    @Test func isCaseSensitive() {
        let lower = ChannelName("abc", lengthMax: 200)
        #expect(lower != nil && lower == ChannelName("abc", lengthMax: 3))
        #expect(lower != ChannelName("Abc", lengthMax: 200))
    }

    static let accesses: [(name: String, access: ChannelName.Access)] = [
        ("news", .open), ("0", .open), ("private", .open), ("presence", .open), ("privatenews", .open), ("Private-news", .open),
        ("PRIVATE-news", .open), ("cache-news", .open), ("my-private-news", .open), ("my-presence-news", .open),
        ("-private-", .open), ("cache-private-news", .open), ("-", .open), ("null", .open), ("cachefoo", .open),
        ("presencenews", .open),
        ("private-news", .signed), ("private-", .signed), ("private-encrypted-news", .encrypted), ("private-cache-news", .signed),
        ("private-encrypted-cache-news", .encrypted), ("private-presence-news", .signed), ("private--", .signed),
        ("presence-news", .presence), ("presence-", .presence), ("presence-cache-news", .presence),
        ("presence-private-news", .presence),
    ]

    @Test(arguments: accesses) func prefixDeterminesAccess(name: String, access: ChannelName.Access) {
        #expect(ChannelName(name, lengthMax: Self.lengthMax)?.access == access)
        #expect(ChannelName(name, lengthMax: Self.lengthMax)?.isPresence == (access == .presence))
    }

    // MARK: Cache channels

    static let caches: [(name: String, isCache: Bool)] = [
        ("cache-a", true), ("cache-", true), ("private-cache-a", true), ("private-encrypted-cache-a", true),
        ("presence-cache-a", true), ("cache-private-a", true), ("private-cache-", true),
        ("cache", false), ("cachefoo", false), ("Cache-a", false), ("my-cache-a", false), ("a-cache-", false),
        ("private-cache", false), ("private-cachea", false), ("private-Cache-a", false), ("private-a-cache-b", false),
        ("private-encrypted-cache", false), ("private-encryptedcache-a", false), ("encrypted-cache-a", false),
        ("presence-cache", false), ("presence-a", false), ("private-presence-cache-a", false),
        ("presence-private-cache-a", false), ("presence-encrypted-cache-a", false), ("#server-to-user-cache-a", false),
    ]

    @Test(arguments: caches) func k1FourPrefixesMakeACacheChannel(name: String, isCache: Bool) {
        #expect(ChannelName(name, lengthMax: Self.lengthMax)?.isCache == isCache)
    }

    // MARK: Server-to-user channels

    @Test(arguments: ["1", "anna", "a b", "é", "a:b/c#", "private-", "#server-to-user-1", "😀", "\u{7F}", "'<>&"])
    func u4ServerToUserAcceptsAnyUserId(id: String) {
        let name = ChannelName("#server-to-user-" + id, lengthMax: Self.lengthMax)
        #expect(name?.text == "#server-to-user-" + id)
        #expect(name?.access == .user(id))
        #expect(name?.isPresence == false && name?.isCache == false)
    }

    /// An event's frame contains the channel name unescaped, so characters that JSON escapes would make it invalid
    /// JSON.
    @Test(arguments: ["", "\"", "a\\b", "\n", "a\u{0}", "\u{1F}"]) func u4RejectsCharactersThatJSONEscapes(id: String) {
        #expect(ChannelName("#server-to-user-" + id, lengthMax: Self.lengthMax) == nil)
    }

    @Test(arguments: [
        "#", "#a", "#server-to-user", "#Server-to-user-1", "#server-to-users-1", "a#server-to-user-1", "##server-to-user-1",
    ])
    func s8OnlyServerToUserBeginsWithHash(text: String) {
        #expect(ChannelName(text, lengthMax: Self.lengthMax) == nil)
    }

    @Test func u4EveryValidUserIdHasAChannel() {
        for letter in ["a", "é", "日", "🚚"] {
            let longest = String(repeating: letter, count: Limits.userIDLength)
            #expect(ChannelName("#server-to-user-" + longest, lengthMax: 20) != nil)
            #expect(ChannelName("#server-to-user-" + longest + letter, lengthMax: 200) == nil)
        }
    }

    /// Swift's `==` treats the Kelvin sign and K as equal strings, and also both forms of é. User ids are compared as
    /// bytes instead.
    @Test func u5CanonicallyEquivalentUserIdsDiffer() {
        for (one, other) in [("K", "\u{212A}"), ("é", "e\u{301}")] {
            let names = [one, other].compactMap { ChannelName("#server-to-user-" + $0, lengthMax: 200) }
            #expect(names.count == 2 && Set(names).count == 2)
        }
    }
}
