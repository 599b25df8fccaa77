import PusherProtocol
import TestSupport
import Testing

/// What a subscription requires. By default, these tests accept `sig` as a valid signature of any text; they check its
/// position in `auth`, and which text is verified.
@Suite struct SubscriptionGrantTests {
    private static let socket: SocketID = {
        var dice = SplitMix(seed: 1)
        return SocketID(loop: 1, slot: 2, using: &dice)
    }()

    private func grant(
        _ channel: String, auth: String? = nil, channelData: String? = nil,
        malformed: Set<SubscriptionRequest.Member> = [], key: String = "key1", nameLength: Int = 200,
        user: SignedInUser? = nil, verify: (String, Substring) -> Bool = { _, signature in signature == "sig" }
    ) throws(ProtocolError) -> SubscriptionGrant {
        var limits = Limits()
        limits.nameLength = nameLength
        return try SubscriptionRequest(channel: channel, auth: auth, channelData: channelData, malformed: malformed)
            .grant(to: Self.socket, key: key, limits: limits, user: user, verify: verify)
    }

    /// Fails the test: a signature is verified although the request needs none or has an earlier error.
    private func never(_ text: String, _ signature: Substring) -> Bool {
        Issue.record("verified \(signature) of \(text)")
        return true
    }

    // MARK: Open channels

    @Test func publicChannelNeedsNoAuth() throws {
        for auth in [nil, "", "key1:wrong", "nonsense"] {
            #expect(try grant("news", auth: auth, channelData: "x", verify: never).channel.text == "news")
        }
    }

    @Test(arguments: ["", "a b", "a:b", "#server-to-users", "é", "private-\n", "presence- x", "a/b"])
    func checksTheNameBeforeTheSignature(channel: String) {
        let message = "Invalid channel name \(channel): expected 1 to 200 characters of A-Z a-z 0-9 _ - = @ , . ;"
        #expect(throws: ProtocolError(message)) { try grant(channel, auth: "key1:sig", verify: never) }
    }

    @Test func appliesTheAppsNameLimit() throws {
        #expect(try grant("12345", nameLength: 5).channel.text == "12345")
        #expect(throws: ProtocolError("Invalid channel name 123456: expected 1 to 5 characters of A-Z a-z 0-9 _ - = @ , . ;")) {
            try grant("123456", nameLength: 5)
        }
    }

    @Test func truncatesLongNamesInErrors() throws {
        let error = try #require(throws: ProtocolError.self) { try grant(String(repeating: "a", count: 60_000)) }
        #expect(error.message.utf8.count < 600)
    }

    // MARK: Private channels

    @Test func verifiesSocketAndChannel() throws {
        var asked: [String] = []
        let grant = try grant("private-a;b=c", auth: "key1:0123abcdef") { text, signature in
            asked.append(text)
            asked.append(String(signature))
            return true
        }
        #expect(grant.channel.text == "private-a;b=c")
        #expect(asked == ["\(Self.socket.salt).\(Self.socket.place):private-a;b=c", "0123abcdef"])
    }

    /// The official SDKs for servers sign the data with any channel.
    @Test(arguments: ["private-a", "private-cache-a", "private-encrypted-a", "private-encrypted-cache-a"], ["{}", "", "a:b"])
    func s10VerifiesChannelDataOnPrivateChannels(channel: String, data: String) throws {
        let signed = "\(Self.socket):\(channel):\(data)"
        let grant = try grant(channel, auth: "key1:s", channelData: data) { text, _ in text == signed }
        #expect(grant.channel.text == channel && grant.member == nil)
        #expect(throws: ProtocolError("Invalid signature: expected HMAC SHA256 hex digest of \(signed)", code: 4009)) {
            try self.grant(channel, auth: "key1:s", channelData: data) { text, _ in text == signed + "x" }
        }
    }

    @Test func s10AcceptsUnsignedChannelDataOnPrivateChannels() throws {
        let unsigned = "\(Self.socket):private-a"
        for data in ["{}", "", "anything"] {
            _ = try grant("private-a", auth: "key1:s", channelData: data) { text, _ in text == unsigned }
        }
    }

    @Test func s10SignedDataMustBeSent() {
        let signed = "\(Self.socket):private-a:{}"
        for data in [nil, "{ }"] {
            #expect(throws: ProtocolError.self) {
                try grant("private-a", auth: "key1:s", channelData: data) { text, _ in text == signed }
            }
        }
    }

    // MARK: Members that are no texts

    @Test func whatAChannelDoesNotNeedIsIgnored() throws {
        _ = try grant("news", malformed: [.auth, .channelData], verify: never)
        _ = try grant("private-a", auth: "key1:sig", malformed: [.channelData])
        let anna = try user(#"{"id":"anna"}"#)
        _ = try grant("#server-to-user-anna", malformed: [.auth, .channelData], user: anna, verify: never)
    }

    @Test(arguments: ["private-a", "private-encrypted-a", "presence-a"]) func authMustBeAText(channel: String) {
        #expect(throws: ProtocolError("pusher:subscribe: expected data.auth to be a string")) {
            try grant(channel, malformed: [.auth, .channelData], verify: never)
        }
    }

    @Test func channelDataOfAMemberMustBeAText() throws {
        let anna = try user(#"{"id":"anna"}"#)
        #expect(throws: ProtocolError("pusher:subscribe: expected data.channel_data to be a string")) {
            try grant("presence-a", auth: "key1:sig", malformed: [.channelData], user: anna, verify: never)
        }
    }

    // MARK: Reasons for operators

    static let refusals: [(channel: String, auth: String?, data: String?, reason: RefusalReason)] = [
        ("a b", "key1:sig", nil, .invalidName), ("private-a", nil, nil, .missingAuth),
        ("private-a", "key2:sig", nil, .otherKey), ("presence-a", "key1:x", "{}", .signature),
        ("presence-a", "key1:sig", "{}", .member), ("presence-a", "key1:sig", nil, .member),
        ("presence-a", "key1:sig", "no", .member), ("#server-to-user-anna", "key1:sig", nil, .otherUser),
    ]

    @Test(arguments: refusals)
    func refusalsHaveReasons(channel: String, auth: String?, data: String?, reason: RefusalReason) throws {
        let error = try #require(throws: ProtocolError.self) { try grant(channel, auth: auth, channelData: data) }
        #expect(error.refusal == reason)
        let malformed = try #require(throws: ProtocolError.self) { try grant("private-a", malformed: [.auth]) }
        #expect(malformed.refusal == .malformed)
    }

    @Test(arguments: ["private-", "private-a", "private-encrypted-a", "private-cache-a"])
    func requiresAuth(channel: String) {
        let message = "Missing auth for subscribing to \(channel): get it from your authorization endpoint"
        #expect(throws: ProtocolError(message, code: 4009)) { try grant(channel, verify: never) }
    }

    static let foreign = [
        "", "sig", ":sig", "key2:sig", "key:sig", "key11:sig", "KEY1:sig", " key1:sig", "key1 :sig", "key1:x:sig", "key1\0:sig",
    ]

    @Test(arguments: foreign) func requiresTheApplicationsKey(auth: String) {
        let message = "Invalid auth for subscribing to private-a: expected KEY:SIGNATURE with this application's key"
        #expect(throws: ProtocolError(message, code: 4009)) { try grant("private-a", auth: auth, verify: never) }
    }

    /// Swift's `==` treats the Kelvin sign and K as equal strings. Keys are compared as bytes instead.
    @Test func comparesTheKeyAsBytes() {
        #expect(throws: ProtocolError.self) { try grant("private-a", auth: "\u{212A}1:sig", key: "K1", verify: never) }
    }

    @Test(arguments: ["key1:", "key1:wrong", "key1:sig ", "key1: sig", "key1:SIG", "key1:sig\u{301}"])
    func rejectsAWrongSignature(auth: String) {
        let message = "Invalid signature: expected HMAC SHA256 hex digest of \(Self.socket):private-a"
        #expect(throws: ProtocolError(message, code: 4009)) { try grant("private-a", auth: auth) }
    }

    @Test func acceptsAKeyWithColons() throws {
        #expect(try grant("private-a", auth: "a:b:sig", key: "a:b").channel.text == "private-a")
        #expect(try grant("private-a", auth: "::sig", key: ":").channel.text == "private-a")
        #expect(throws: ProtocolError.self) { try grant("private-a", auth: "a:b:sig", key: "a", verify: never) }
        #expect(throws: ProtocolError.self) { try grant("private-a", auth: "a:b:", key: "a:b") }
    }

    // MARK: Presence channels

    private func user(_ userData: String) throws -> SignedInUser {
        try SigninRequest(auth: "key1:sig", userData: userData)
            .user(on: Self.socket, key: "key1", limits: Limits()) { _, signature in signature == "sig" }
    }

    @Test func r7VerifiesChannelDataByteForByte() throws {
        let data = #" {"user_id" : 10, "x":"\u00e9é" } "#
        var asked: [String] = []
        let grant = try grant("presence-a", auth: "key1:s", channelData: data) { text, _ in
            asked.append(text)
            return true
        }
        #expect(asked == ["\(Self.socket):presence-a:\(data)"])
        #expect(grant.member == PresenceMember(id: "10"))
    }

    @Test func r7RejectsAPrivateChannelsSignature() {
        let verify: (String, Substring) -> Bool = { text, _ in text == "\(Self.socket):presence-a" }
        #expect(throws: ProtocolError.self) {
            try grant("presence-a", auth: "key1:s", channelData: #"{"user_id":"1"}"#, verify: verify)
        }
    }

    @Test func r7ChecksAuthBeforeDecoding() {
        let message = "Missing auth for subscribing to presence-a: get it from your authorization endpoint"
        #expect(throws: ProtocolError(message, code: 4009)) {
            try grant("presence-a", channelData: "nonsense", verify: never)
        }
        #expect(throws: ProtocolError.self) { try grant("presence-a", auth: "key1:x", channelData: #"{"user_id":"1"}"#) }
    }

    @Test func r8RequiresChannelDataOrSignin() {
        let message = "Subscribing to presence-a needs channel_data, or a signed-in user"
        #expect(throws: ProtocolError(message, code: 4009)) { try grant("presence-a", auth: "key1:sig") }
        #expect(throws: ProtocolError.self) { try grant("presence-a", auth: "key1:sig", channelData: "") }
    }

    @Test func u7ChannelDataOverridesTheSignedInUser() throws {
        let anna = try user(#"{"id":"anna","user_info":{"n":1}}"#)
        let own = try grant("presence-a", auth: "key1:sig", user: anna)
        #expect(own.member == PresenceMember(id: "anna", info: Array(#"{"n":1}"#.utf8)))
        let other = try grant("presence-a", auth: "key1:sig", channelData: #"{"user_id":"bert"}"#, user: anna)
        #expect(other.member == PresenceMember(id: "bert"))
        #expect(throws: ProtocolError.self) { try grant("presence-a", user: anna) }
        #expect(throws: ProtocolError.self) { try grant("presence-a", auth: "key1:sig", channelData: "{}", user: anna) }
        #expect(try grant("private-a", auth: "key1:sig", user: anna).member == nil)
    }

    // MARK: Server-to-user channels

    @Test func u5RequiresTheSignedInUser() throws {
        let anna = try user(#"{"id":"anna"}"#)
        #expect(try grant("#server-to-user-anna", auth: "", user: anna, verify: never).member == nil)
        let message = "Subscribing to #server-to-user-bert needs a connection signed in as bert"
        for user in [nil, anna] {
            #expect(throws: ProtocolError(message, code: 4009)) {
                try grant("#server-to-user-bert", auth: "key1:sig", user: user, verify: never)
            }
        }
    }

    @Test(arguments: [("K", "\u{212A}"), ("\u{212A}", "K"), ("é", "e\u{301}"), ("anna", "Anna"), ("1", "1 ")])
    func u5ComparesUserIdsAsBytes(id: String, other: String) throws {
        let impostor = try user(#"{"id":"\#(id)"}"#)
        #expect(throws: ProtocolError.self) { try grant("#server-to-user-\(other)", user: impostor, verify: never) }
    }
}
