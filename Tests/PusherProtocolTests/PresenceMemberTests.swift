import PusherProtocol
import Testing

/// `channel_data` of presence channels (protocol points R5–R9).
@Suite struct PresenceMemberTests {
    private func read(_ channelData: String, infoBytes: Int = 1_024) throws(ProtocolError) -> PresenceMember {
        var limits = Limits()
        limits.presenceInfoBytes = infoBytes
        return try PresenceMember(channelData: channelData, limits: limits)
    }

    static let members: [(data: String, id: String, info: String?)] = [
        (#"{"user_id":"anna"}"#, "anna", nil),
        (#"{"user_id":"anna","user_info":{"name":"Anna"}}"#, "anna", #"{"name":"Anna"}"#),
        (#" { "user_info" : { "a" : [ 1 , 2 ] } , "user_id" : "anna" , "more" : [] } "#, "anna", #"{ "a" : [ 1 , 2 ] }"#),
        (#"{"user_id":"1","user_info":null}"#, "1", "null"), (#"{"user_id":"1","user_info":"x"}"#, "1", #""x""#),
        (#"{"user_id":"1","user_info":-1.50}"#, "1", "-1.50"), (#"{"user_id":"1","user_info":false}"#, "1", "false"),
        (#"{"user_id":"1","user_info":""}"#, "1", #""""#), (#"{"user_id":"1","user_info":0}"#, "1", "0"),
        (#"{"user_id":"1","user_info":1.5}"#, "1", "1.5"), (#"{"user_id":"1","user_info":true}"#, "1", "true"),
        (#"{"user_id":"1","user_info":[]}"#, "1", "[]"), (#"{"user_id":"1","user_info":[1]}"#, "1", "[1]"),
        (#"{"user_id":"1","user_info":{"a":{"b":[null]}}}"#, "1", #"{"a":{"b":[null]}}"#),
        // Escapes.
        (#"{"user_id":"\u0061\"\\\/\n\ud83d\ude00"}"#, "a\"\\/\n😀", nil), (#"{"user\u005fid":"a"}"#, "a", nil),
        (#"{"user_id":"a","user_info":{"\u00e9":"\/"}}"#, "a", #"{"\u00e9":"\/"}"#),
        // A space and 0 are valid ids.
        (#"{"user_id":" "}"#, " ", nil), (#"{"user_id":"0"}"#, "0", nil),
        // The last of repeated members counts.
        (#"{"user_id":"a","user_info":1,"user_id":"b","user_info":2}"#, "b", "2"),
        (#"{"user_id":null,"user_id":"b"}"#, "b", nil), (#"{"user_id":"a","user_id":7}"#, "7", nil),
    ]

    @Test(arguments: members) func r5DecodesTheMember(data: String, id: String, info: String?) throws {
        #expect(try read(data) == PresenceMember(id: id, info: info.map { Array($0.utf8) }))
    }

    @Test(arguments: [
        "10", "0", "-7", "12345678901234567890", "99999999999999999999999999999999999999", "1.0", "1e3", "-0", "9007199254740993",
    ])
    func r6NumericUserIdBecomesText(number: String) throws {
        #expect(try read(#"{"user_id":\#(number)}"#) == read(#"{"user_id":"\#(number)"}"#))
        #expect(try read(#"{"user_id":\#(number)}"#).id == number)
    }

    static let invalid = [
        "", " ", "null", "[]", "7", #""anna""#, "{", #"{"user_id":"a"}x"#, #"{"user_id":01}"#, #"{user_id:1}"#,
        #"{"user_id":"a",}"#, "true", #"[{"user_id":"1"}]"#, #"{"user_id":"1""#, #"{"user_id":"1"}}"#, "{'user_id':'1'}",
        "user_id=1",
    ]

    @Test(arguments: invalid) func r8RejectsNonObjects(data: String) {
        #expect(throws: ProtocolError("Invalid channel_data: expected a JSON object", code: 4009)) { try read(data) }
    }

    @Test(arguments: [
        "{}", #"{"user_id":""}"#, #"{"user_id":null}"#, #"{"user_id":true}"#, #"{"user_id":{}}"#, #"{"user_id":["a"]}"#,
        #"{"id":"a"}"#, #"{"User_id":"a"}"#, #"{"user_info":{"user_id":"a"}}"#, #"{"user_id":"a","user_id":null}"#,
    ])
    func r8RejectsAMissingUserId(data: String) {
        let message = "Invalid channel_data: expected user_id to be a string or a number"
        #expect(throws: ProtocolError(message, code: 4009)) { try read(data) }
    }

    @Test(arguments: ["😀", #"\ud83d\ude00"#]) func r9MeasuresTheUserInfoDecoded(emoji: String) throws {
        // With the quotes, 255 emoji have 1,022 bytes.
        let info = { (count: Int) in "\"" + String(repeating: emoji, count: count) + "\"" }
        #expect(try read(#"{"user_id":"1","user_info":\#(info(255))}"#).info == Array(info(255).utf8))
        let error = ProtocolError("user_info exceeds the allowed maximum (1024 bytes)", code: 4009)
        #expect(throws: error) { try read(#"{"user_id":"1","user_info":\#(info(256))}"#) }
    }

    @Test(arguments: ["a", "é", "😀", "e\u{301}"]) func r9LimitsTheUserId(piece: String) throws {
        let scalars = piece.unicodeScalars.count
        let longest = String(repeating: piece, count: 128 / scalars)
        #expect(try read(#"{"user_id":"\#(longest)"}"#).id == longest)
        let error = ProtocolError("user_id exceeds the allowed maximum (128 characters)", code: 4009)
        #expect(throws: error) { try read(#"{"user_id":"\#(longest)a"}"#) }
    }

    @Test func r9LimitsANumericUserId() throws {
        #expect(try read(#"{"user_id":\#(String(repeating: "1", count: 128))}"#).id.count == 128)
        #expect(throws: ProtocolError.self) { try read(#"{"user_id":\#(String(repeating: "1", count: 129))}"#) }
    }

    @Test func r9LimitsUserInfo() throws {
        let info = #"{"name":"é"}"#
        #expect(try read(#"{"user_id":"a","user_info":\#(info)}"#, infoBytes: info.utf8.count).info?.count == info.utf8.count)
        let error = ProtocolError("user_info exceeds the allowed maximum (12 bytes)", code: 4009)
        #expect(throws: error) { try read(#"{"user_id":"a","user_info":\#(info)}"#, infoBytes: info.utf8.count - 1) }
        #expect(try read(#"{"user_id":"a"}"#, infoBytes: 0).info == nil)
        #expect(throws: ProtocolError.self) { try read(#"{"user_id":"a","user_info":1}"#, infoBytes: 0) }
    }
}
