import FanOut
import Fleet
import PusherAPI
import PusherProtocol
import Testing

@Suite struct EventRequestTests {
    /// The parts of an event that do not borrow the body.
    struct Decoded {
        let channels: [String]
        let frames: [Frame]
        let except: SocketID?
    }

    func decode(_ body: String, limits: Limits = Limits()) throws(APIError) -> Decoded {
        try decode(Array(body.utf8), limits: limits)
    }

    func decode(_ body: [UInt8], limits: Limits = Limits()) throws(APIError) -> Decoded {
        // `withUnsafeBytes` rethrows untyped errors.
        let result = body.withUnsafeBytes { bytes in
            Result { () throws(APIError) in try EventRequest(bytes, rules: AppRules(limits)) }
        }
        let event = try result.get()
        return Decoded(
            channels: event.publications.map(\.channel.text), frames: event.publications.map(\.frame), except: event.except)
    }

    func refusal(_ body: String, limits: Limits = Limits()) -> APIError? {
        do throws(APIError) {
            _ = try decode(body, limits: limits)
            return nil
        } catch {
            return error
        }
    }

    /// Few channels are compared with each other, many by a set.
    @Test(arguments: [2, 8, 9, 100]) func eachOfManyChannelsGetsOneFrameInOrder(count: Int) throws {
        let names = (0..<count).map { "c\($0 / 2)" }
        let list = names.map { "\"\($0)\"" }.joined(separator: ",")
        let decoded = try decode(#"{"name":"e","data":"d","channels":[\#(list)]}"#)
        #expect(decoded.channels == (0..<(count + 1) / 2).map { "c\($0)" })
    }

    @Test func countsTheChannelsAboveTheLimit() {
        let list = (0..<2_345).map { "\"c\($0)\"" }.joined(separator: ",")
        let refusal = refusal(#"{"name":"e","data":"d","channels":[1],"channels":[\#(list)]}"#)
        #expect(refusal == APIError(400, "Expected at most 100 channels, found 2345"))
    }

    @Test(arguments: [#"\u0061"#, #"\ud83d\ude00"#]) func measuresTheDataDecoded(escape: String) throws {
        let bytes = escape.utf8.count == 6 ? 1 : 4
        var limits = Limits()
        limits.eventBytes = 100 * bytes
        let data = { (count: Int) in "\"" + String(repeating: escape, count: count) + "\"" }
        #expect(try decode(self.body(data: data(100)), limits: limits).frames.count == 1)
        #expect(refusal(self.body(data: data(101)), limits: limits)?.status == 413)
        limits.nameLength = 100
        #expect(try decode(self.body(name: data(100)), limits: limits).frames.count == 1)
        #expect(refusal(self.body(name: data(101)), limits: limits)?.status == 400)
    }

    /// A body; the arguments are the JSON of its members.
    func body(name: String = #""e""#, channel: String = #""c""#, data: String = #""d""#, more: String = "") -> String {
        #"{"name":\#(name),"channel":\#(channel),"data":\#(data)\#(more)}"#
    }

    func frame(name: String = #""e""#, channel: String = "c", data: String = #""d""#) -> Frame {
        Frame(text: Array(#"{"event":\#(name),"channel":"\#(channel)","data":\#(data)}"#.utf8))
    }

    // MARK: Publications (B1)

    @Test func acceptsOneChannelOrAList() throws {
        for channels in [#""channel":"c""#, #""channels":["c"]"#] {
            let event = try decode(#"{"name":"e",\#(channels),"data":"d"}"#)
            #expect(event.channels == ["c"] && event.frames == [frame()] && event.except == nil)
        }
    }

    @Test func encodesAFramePerChannelInOrder() throws {
        let event = try decode(#"{"name":"e","channels":["b","a","private-c"],"data":"d"}"#)
        #expect(event.channels == ["b", "a", "private-c"])
        #expect(event.frames == [frame(channel: "b"), frame(channel: "a"), frame(channel: "private-c")])
    }

    @Test func publishesOnceToADuplicateChannel() throws {
        let event = try decode(#"{"name":"e","channels":["a","b","a","\u0061","A","b"],"data":"d"}"#)
        #expect(event.channels == ["a", "b", "A"])
    }

    @Test func acceptsMembersInAnyOrderAndIgnoresOthers() throws {
        let event = try decode(
            "\r\n{ \"x\" : [ {\"name\":1} ] , \"data\" : \"d\" ,\t\"info\":null,\"ch\\u0061nnel\" : \"\\u0063\" , \"name\" : \"e\" } \n"
        )
        #expect(event.frames == [frame()])
    }

    @Test func usesTheLastOfDuplicateMembers() throws {
        let event = try decode(#"{"name":1,"data":2,"channel":3,"name":"e","data":"d","channel":"c"}"#)
        #expect(event.frames == [frame()])
    }

    @Test func channelsTakesPrecedenceOverChannel() throws {
        for members in [#""channel":"x","channels":["c"]"#, #""channels":["c"],"channel":7"#] {
            #expect(try decode(#"{"name":"e",\#(members),"data":"d"}"#).channels == ["c"])
        }
    }

    static let texts = [
        #""""#, #""d""#, #""{\"a\":[1,\"x\"]}""#, #""not JSON""#, #""\"\\\/\b\f\n\r\t""#, #""\u0000\u001f\u007F""#,
        #""\u00e9\u00E9""#, #""\ud83d\ude00""#, #""\ud800""#, #""\uDC00x""#, #""é😀""#, #""</script>""#, #""\/""#,
        #""\u0022\u005c""#, "\"\u{7F}\u{2028}\"",
    ]

    /// Publishers and subscribers may depend on the exact bytes, for example to verify an end-to-end signature.
    @Test(arguments: texts) func copiesNameAndDataUnchanged(text: String) throws {
        #expect(try decode(body(data: text)).frames == [frame(data: text)])
        guard text != #""""# else { return }
        #expect(try decode(body(name: text)).frames == [frame(name: text)])
    }

    // MARK: The excluded connection (B2)

    /// Ids that a server can issue.
    static let issuable = ["1.0", "123.456", "4294967295.4294967295"]
    /// Well-formed ids that no server can issue.
    static let unissuable = [
        "0.0", "01.5", "1.05", "4294967296.1", "1.4294967296", "99999999999999999999999999.1",
        String(repeating: "1", count: 300) + ".1",
    ]
    static let malformed = [
        #""""#, #""1""#, #""x""#, #"".""#, #""1.""#, #"".1""#, #""1.2.3""#, #""1..2""#, #""a.b""#, #""1.2 ""#, #"" 1.2""#,
        #""1.2\n""#, #""-1.2""#, #""+1.2""#, #""1,2""#, #""1.2x""#, #""１.２""#, #""1.2\u0000""#, "1", "1.2", "true", "[]", "{}",
        #"["1.2"]"#,
    ]

    @Test(arguments: issuable) func excludesTheGivenConnection(socket: String) throws {
        let event = try decode(body(more: #","socket_id":"\#(socket)""#))
        #expect(event.except != nil && event.except == SocketID(socket))
    }

    @Test(arguments: unissuable) func excludesNothingForSocketIDsThatNoServerCanIssue(socket: String) throws {
        #expect(try decode(body(more: #","socket_id":"\#(socket)""#)).except == nil)
    }

    @Test func excludesNothingForNull() throws {
        #expect(try decode(body(more: #","socket_id":null"#)).except == nil)
    }

    @Test(arguments: malformed) func rejectsMalformedSocketIDs(socket: String) {
        let expected = APIError(400, "Invalid socket_id: expected digits, a dot, digits")
        #expect(refusal(body(more: #","socket_id":\#(socket)"#)) == expected)
    }
}
