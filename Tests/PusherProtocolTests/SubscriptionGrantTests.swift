import PusherProtocol
import Testing

/// What it takes to be granted a subscription. The signature of a text is `sig`, so only its place and its text matter.
@Suite struct SubscriptionGrantTests {
    private static let socket: SocketID = {
        var dice = SeededDice(seed: 1)
        return SocketID(loop: 1, slot: 2, using: &dice)
    }()

    private func grant(
        _ channel: String, auth: String? = nil, channelData: String? = nil, key: String = "key1", nameLength: Int = 200,
        verify: (String, Substring) -> Bool = { _, signature in signature == "sig" }
    ) throws(ProtocolError) -> SubscriptionGrant {
        var limits = Limits()
        limits.nameLength = nameLength
        return try SubscriptionRequest(channel: channel, auth: auth, channelData: channelData)
            .grant(to: Self.socket, key: key, limits: limits, verify: verify)
    }

    private func never(_ text: String, _ signature: Substring) -> Bool {
        Issue.record("verified \(signature) of \(text)")
        return true
    }

    // MARK: Open channels

    @Test func opensAPublicChannelToAnybody() throws {
        for auth in [nil, "", "key1:wrong", "nonsense"] {
            #expect(try grant("news", auth: auth, channelData: "x", verify: never).channel.text == "news")
        }
    }

    @Test(arguments: ["", "a b", "a:b", "#server-to-user-1", "é", "private-\n", "presence- x", "a/b"])
    func refusesAnInvalidNameBeforeItsSignature(channel: String) {
        let message = "Invalid channel name \(channel): expected 1 to 200 of A-Z a-z 0-9 _ - = @ , . ;"
        #expect(throws: ProtocolError(message)) { try grant(channel, auth: "key1:sig", verify: never) }
    }

    @Test func honoursTheApplicationsLimit() throws {
        #expect(try grant("12345", nameLength: 5).channel.text == "12345")
        #expect(throws: ProtocolError("Invalid channel name 123456: expected 1 to 5 of A-Z a-z 0-9 _ - = @ , . ;")) {
            try grant("123456", nameLength: 5)
        }
    }

    @Test func quotesBackOnlyTheBeginningOfALongName() throws {
        let error = try #require(throws: ProtocolError.self) { try grant(String(repeating: "a", count: 60_000)) }
        #expect(error.message.utf8.count < 600)
    }

    @Test func refusesPresenceWhoeverSigns() {
        #expect(throws: ProtocolError("Presence channels are not supported: presence-a")) {
            try grant("presence-a", auth: "key1:sig", channelData: #"{"user_id":"1"}"#, verify: never)
        }
    }

    // MARK: Private channels

    @Test func verifiesExactlySocketColonChannel() throws {
        var asked: [String] = []
        let grant = try grant("private-a;b=c", auth: "key1:0123abcdef") { text, signature in
            asked.append(text)
            asked.append(String(signature))
            return true
        }
        #expect(grant.channel.text == "private-a;b=c")
        #expect(asked == ["\(Self.socket.salt).\(Self.socket.place):private-a;b=c", "0123abcdef"])
    }

    /// Without presence `channel_data` means nothing, and must not slip into what is verified.
    @Test func leavesChannelDataOutOfTheText() throws {
        var asked: [String] = []
        _ = try grant("private-a", auth: "key1:s", channelData: "{}") { text, _ in
            asked.append(text)
            return true
        }
        #expect(asked == ["\(Self.socket):private-a"])
    }

    @Test(arguments: ["private-", "private-a", "private-encrypted-a", "private-cache-a"])
    func asksForAuth(channel: String) {
        let message = "Subscribing to \(channel) needs auth: ask your authorization endpoint"
        #expect(throws: ProtocolError(message, code: 4009)) { try grant(channel, verify: never) }
    }

    static let foreign = [
        "", "sig", ":sig", "key2:sig", "key:sig", "key11:sig", "KEY1:sig", " key1:sig", "key1 :sig", "key1:x:sig", "key1\0:sig",
    ]

    @Test(arguments: foreign) func asksForTheApplicationsKey(auth: String) {
        let message = "Invalid auth for private-a: expected KEY:SIGNATURE with this application's key"
        #expect(throws: ProtocolError(message, code: 4009)) { try grant("private-a", auth: auth, verify: never) }
    }

    /// Swift's `==` holds the Kelvin sign for a K. Keys are bytes.
    @Test func comparesTheKeyByteForByte() {
        #expect(throws: ProtocolError.self) { try grant("private-a", auth: "\u{212A}1:sig", key: "K1", verify: never) }
    }

    @Test(arguments: ["key1:", "key1:wrong", "key1:sig ", "key1: sig", "key1:SIG", "key1:sig\u{301}"])
    func asksForTheRightSignature(auth: String) {
        let message = "Invalid signature: expected HMAC SHA256 hex digest of \(Self.socket):private-a"
        #expect(throws: ProtocolError(message, code: 4009)) { try grant("private-a", auth: auth) }
    }

    @Test func takesAKeyWithColons() throws {
        #expect(try grant("private-a", auth: "a:b:sig", key: "a:b").channel.text == "private-a")
        #expect(try grant("private-a", auth: "::sig", key: ":").channel.text == "private-a")
        #expect(throws: ProtocolError.self) { try grant("private-a", auth: "a:b:sig", key: "a", verify: never) }
        #expect(throws: ProtocolError.self) { try grant("private-a", auth: "a:b:", key: "a:b") }
    }
}
