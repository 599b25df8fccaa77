import PusherProtocol
import TestSupport
import Testing

/// Verifying and decoding a sign-in (protocol points U1, U2, W1, W3). By default, these tests accept `sig` as a valid
/// signature of any text.
@Suite struct SignedInUserTests {
    private func user(
        _ userData: String, auth: String = "key1:sig", infoBytes: Int = 1_024,
        verify: (String, Substring) -> Bool = { _, signature in signature == "sig" }
    ) throws -> SignedInUser {
        var limits = Limits()
        limits.presenceInfoBytes = infoBytes
        let socket = try #require(SocketID("12.34"))
        return try SigninRequest(auth: auth, userData: userData).user(on: socket, key: "key1", limits: limits, verify: verify)
    }

    @Test func u1VerifiesSocketAndUserData() throws {
        var asked: [String] = []
        let data = #" { "id" : "\u0061" } "#
        let user = try user(data, auth: "key1:0123") { text, signature in
            asked += [text, String(signature)]
            return true
        }
        #expect(asked == ["12.34::user::\(data)", "0123"])
        #expect(user.id == "a" && user.member == PresenceMember(id: "a") && user.watchlist.isEmpty && !user.isWatchlistTruncated)
    }

    @Test func u1RepeatsTheSignedData() throws {
        let data = #"{"id":"a","x":"\u00e9\/\"é"}"#
        let frame = ServerMessage.signinSuccess(try user(data))
        let members = try JSONValue.members(of: Array(frame.bytes.dropFirst(frame.bytes[1] < 126 ? 2 : 4)))
        #expect(members.map(\.text).first == "pusher:signin_success" && members.count == 2)
        let inner = try #require(members.last?.text)
        #expect(try JSONValue.members(of: inner).map(\.text) == [data])
    }

    @Test(arguments: ["😀", #"\ud83d\ude00"#]) func u2MeasuresTheUserInfoDecoded(emoji: String) throws {
        let data = { (count: Int) in #"{"id":"a","user_info":"\#(String(repeating: emoji, count: count))"}"# }
        #expect(try user(data(255)).member.info?.count == 255 * emoji.utf8.count + 2)
        let error = ProtocolError("user_info exceeds the allowed maximum (1024 bytes)", code: 4009)
        #expect(throws: error) { try user(data(256)) }
    }

    @Test(arguments: ["", "sig", "key2:sig", "key1:wrong", "key1:", "KEY1:sig"])
    func u2ChecksTheSignatureBeforeDecoding(auth: String) throws {
        let error = try #require(throws: ProtocolError.self) { try user("nonsense", auth: auth) }
        #expect(error.code == 4009 && !error.message.contains("user_data:"))
    }

    @Test(arguments: [
        "{}", #"{"id":""}"#, #"{"id":null}"#, #"{"id":7}"#, #"{"id":{}}"#, #"{"user_id":"a"}"#, #"{"id":"a","id":1}"#,
        #"{"id":true}"#, #"{"id":["1"]}"#, #"{"user_info":{"id":"1"}}"#,
    ])
    func u2RejectsAMissingId(data: String) {
        let message = "Invalid user_data: expected id to be a string that is not empty"
        #expect(throws: ProtocolError(message, code: 4009)) { try user(data) }
    }

    @Test(arguments: [
        "", "[]", "null", "1", #""a""#, "{", #"{"id":"1""#, #"{"id":"a"}x"#, #"{"id":"a","watchlist":"b"}"#,
        #"{"id":"a","watchlist":{}}"#,
        #"{"id":"a","watchlist":[1]}"#, #"{"id":"a","watchlist":["b",null]}"#, #"{"id":"a","watchlist":7}"#,
    ])
    func u2RejectsInvalidUserData(data: String) {
        let message = "Invalid user_data: expected a JSON object; its watchlist, if any, must be an array of strings"
        #expect(throws: ProtocolError(message, code: 4009)) { try user(data) }
    }

    @Test func u2LimitsTheId() throws {
        let longest = String(repeating: "é", count: 128)
        #expect(try user(#"{"id":"\#(longest)"}"#).id == longest)
        let error = ProtocolError("The user's id exceeds the allowed maximum (128 characters)", code: 4009)
        #expect(throws: error) { try user(#"{"id":"\#(longest)e"}"#) }
    }

    @Test func u7UserIsAMemberWithInfo() throws {
        let data = #"{"id":"a","user_info":{"n": 1},"name":"x"}"#
        #expect(try user(data, infoBytes: 8).member == PresenceMember(id: "a", info: Array(#"{"n": 1}"#.utf8)))
        let error = ProtocolError("user_info exceeds the allowed maximum (7 bytes)", code: 4009)
        #expect(throws: error) { try user(data, infoBytes: 7) }
    }

    @Test func equalityComparesSignedData() throws {
        #expect(try user(#"{"id":"a"}"#) == user(#"{"id":"a"}"#))
        #expect(try user(#"{"id":"a"}"#) != user(#"{"id":"a" }"#))
    }

    // MARK: Watchlists

    private func list(_ ids: [String]) -> String { ids.map { "\"\($0)\"" }.joined(separator: ",") }

    @Test func w1RemovesDuplicatesKeepingOrder() throws {
        let user = try user(#"{"id":"a","watchlist":["c","b","c","a","\u0062",""]}"#)
        #expect(user.watchlist == ["c", "b", "a", ""] && !user.isWatchlistTruncated)
        #expect(try self.user(#"{"id":"a","watchlist":null}"#).watchlist.isEmpty)
        #expect(try self.user(#"{"id":"a","watchlist":[]}"#).watchlist.isEmpty)
        #expect(try self.user(#"{"id":"a","watchlist":["b"],"watchlist":["c"]}"#).watchlist == ["c"])
    }

    @Test func w3KeepsTheFirstHundred() throws {
        let ids = (1...101).map { "u\($0)" }
        let hundred = try user(#"{"id":"a","watchlist":[\#(list(Array(ids.prefix(100))))]}"#)
        #expect(hundred.watchlist == Array(ids.prefix(100)) && !hundred.isWatchlistTruncated)
        let more = try user(#"{"id":"a","watchlist":[\#(list(ids))]}"#)
        #expect(more.watchlist == Array(ids.prefix(100)) && more.isWatchlistTruncated)
        let doubled = try user(#"{"id":"a","watchlist":[\#(list(["u1"] + ids))]}"#)
        #expect(
            doubled.watchlist == Array(ids.prefix(99)) && doubled.isWatchlistTruncated,
            "the list is truncated before duplicates are removed")
    }
}
