import PusherProtocol
import TestSupport
import Testing

/// Messages about users, caches and counts. They are compared byte for byte, or decoded as clients do: the data is a
/// string, and the string contains JSON.
extension ServerMessageTests {
    private func member(_ id: String, _ info: String? = nil) -> PresenceMember {
        PresenceMember(id: id, info: info.map { Array($0.utf8) })
    }

    /// The JSON members of a message's data, which must be a string.
    private func data(of message: Frame) throws -> [JSONValue] {
        let header = message.bytes[1] < 126 ? 2 : message.bytes[1] == 126 ? 4 : 10
        let outer = try JSONValue.members(of: Array(message.bytes.dropFirst(header)))
        #expect(outer.last?.key == Array(#""data""#.utf8))
        return try JSONValue.members(of: try #require(outer.last?.text))
    }

    private func texts(_ array: [UInt8]) throws -> [String?] { try JSONValue.elements(of: array).map(\.text) }

    // MARK: Presence

    @Test func r1ListsTheMembers() throws {
        let members = [member("anna", #"{"name":"Anna"}"#), member("10"), member("b", "null")]
        #expect(
            ServerMessage.subscriptionSucceeded(try channel("presence-a"), members: members)
                == frame(
                    #"{"event":"pusher_internal:subscription_succeeded","channel":"presence-a","#
                        + #""data":"{\"presence\":{\"ids\":[\"anna\",\"10\",\"b\"],\"hash\":"#
                        + #"{\"anna\":{\"name\":\"Anna\"},\"10\":null,\"b\":null},\"count\":3}}"}"#))
    }

    @Test func r1ListsNoMembers() throws {
        #expect(
            ServerMessage.subscriptionSucceeded(try channel("presence-a"), members: [])
                == frame(
                    #"{"event":"pusher_internal:subscription_succeeded","channel":"presence-a","#
                        + #""data":"{\"presence\":{\"ids\":[],\"hash\":{},\"count\":0}}"}"#))
    }

    /// The ids and the info contain characters that are escaped twice: the data is JSON in a string.
    @Test func r1MemberListRoundTrips() throws {
        let ids = ["\"", "\\", "\n\0\u{1F}", "é😀", "</script>", "12345678901234567890", "a\\\"b", ""]
        let info = #"{"\"\\\/\b\f\n\r\t\u0000\ud83d":["é😀",{"a":{}},-1.5e+3,null]}"#
        let message = ServerMessage.subscriptionSucceeded(try channel("presence-a"), members: ids.map { member($0, info) })
        let presence = try JSONValue.members(of: try #require(data(of: message).first).raw)
        #expect(try texts(presence[0].raw) == ids)
        let hash = try JSONValue.members(of: presence[1].raw)
        #expect(try hash.map { try texts(Array("[".utf8) + $0.key + Array("]".utf8))[0] } == ids)
        #expect(hash.allSatisfy { $0.raw == Array(info.utf8) })
        #expect(presence[2].raw == Array("8".utf8))
    }

    @Test func r1EncodesAThousandMembers() throws {
        let members = (0..<1_000).map { member("user \($0)", #"{"n":\#($0)}"#) }
        let message = ServerMessage.subscriptionSucceeded(try channel("presence-a"), members: members)
        #expect(message.bytes.count > 65_536 / 2)
        let presence = try JSONValue.members(of: try #require(data(of: message).first).raw)
        #expect(try texts(presence[0].raw) == members.map(\.id))
    }

    @Test func r2EncodesMemberAdded() throws {
        #expect(
            ServerMessage.memberAdded(try channel("presence-a"), member("10", #"{"a":"\"é"}"#))
                == frame(
                    #"{"event":"pusher_internal:member_added","channel":"presence-a","#
                        + #""data":"{\"user_id\":\"10\",\"user_info\":{\"a\":\"\\\"é\"}}"}"#))
    }

    @Test func r5OmitsAbsentInfo() throws {
        #expect(
            ServerMessage.memberAdded(try channel("presence-a"), member("a"))
                == frame(#"{"event":"pusher_internal:member_added","channel":"presence-a","data":"{\"user_id\":\"a\"}"}"#))
    }

    @Test func r3EncodesMemberRemoved() throws {
        #expect(
            ServerMessage.memberRemoved(try channel("presence-a"), userID: "a\"b")
                == frame(
                    #"{"event":"pusher_internal:member_removed","channel":"presence-a","data":"{\"user_id\":\"a\\\"b\"}"}"#))
        let read = try data(of: ServerMessage.memberRemoved(try channel("presence-a"), userID: "a\"\\\n"))
        #expect(read.map(\.text) == ["a\"\\\n"])
    }

    // MARK: Caches and counts

    @Test func k1EncodesCacheMiss() throws {
        #expect(
            ServerMessage.cacheMiss(try channel("private-cache-a"))
                == frame(#"{"event":"pusher:cache_miss","channel":"private-cache-a","data":"{}"}"#))
    }

    @Test func n1EncodesSubscriptionCount() throws {
        let message = ServerMessage.subscriptionCount(try channel("news"), 12_345)
        #expect(
            message
                == frame(
                    #"{"event":"pusher_internal:subscription_count","channel":"news","data":"{\"subscription_count\":12345}"}"#))
        #expect(try data(of: message).first?.raw == Array("12345".utf8))
    }

    // MARK: Users

    private func user(_ userData: String) throws -> SignedInUser {
        let socket = try #require(SocketID("1.2"))
        return try SigninRequest(auth: "k:", userData: userData).user(on: socket, key: "k", limits: Limits()) { _, _ in true }
    }

    @Test func u1EncodesSigninSuccess() throws {
        #expect(
            ServerMessage.signinSuccess(try user(#"{"id":"a"}"#))
                == frame(#"{"event":"pusher:signin_success","data":"{\"user_data\":\"{\\\"id\\\":\\\"a\\\"}\"}"}"#))
    }

    @Test func w1EncodesWatchlistEvents() {
        let begin = #"{"event":"pusher_internal:watchlist_events","data":"{\"events\":["#
        let online = #"{\"name\":\"online\",\"user_ids\":[\"a\",\"10\"]}"#
        let offline = #"{\"name\":\"offline\",\"user_ids\":[\"b\\\"\"]}"#
        #expect(
            ServerMessage.watchlistEvents(online: ["a", "10"], offline: ["b\""])
                == frame(begin + online + "," + offline + #"]}"}"#))
        #expect(ServerMessage.watchlistEvents(online: ["a", "10"], offline: []) == frame(begin + online + #"]}"}"#))
        #expect(ServerMessage.watchlistEvents(online: [], offline: ["b\""]) == frame(begin + offline + #"]}"}"#))
    }

    // MARK: Client events

    @Test func e2EncodesTheSenderOnPresenceChannels() throws {
        let event = ClientEvent(name: "client-\"é", channel: "presence-a", data: Array(#""{\"x\":1}""#.utf8))
        #expect(
            ServerMessage.clientEvent(event, channel: try channel("presence-a"), userID: "1\"0")
                == frame(#"{"event":"client-\"é","channel":"presence-a","data":"{\"x\":1}","user_id":"1\"0"}"#))
        #expect(
            ServerMessage.clientEvent(event, channel: try channel("private-a"), userID: nil)
                == frame(#"{"event":"client-\"é","channel":"private-a","data":"{\"x\":1}"}"#))
    }

    // MARK: Pings

    @Test func p4PingIsAPingFrameAndAnEvent() {
        let event = frame(#"{"event":"pusher:ping","data":{}}"#)
        #expect(ServerMessage.ping.bytes == [0x89, 0x00] + event.bytes)
        #expect(ServerMessage.ping.messageCount == 1)
    }

    // MARK: Decoding

    @Test(arguments: [0, 1, 80, 200, 70_000]) func h5DataRoundTrips(length: Int) throws {
        let data = "\"" + String(repeating: #"\u00e9x"#, count: length) + "\""
        #expect(ServerMessage.data(of: try event(name: #""e""#, channel: "cache-a", data: data)) == Array(data.utf8))
        #expect(ServerMessage.data(of: ServerMessage.cacheMiss(try channel("cache-a"))) == Array(#""{}""#.utf8))
    }
}
