import PusherProtocol
import TestSupport
import Testing

/// The server's messages, byte for byte: client libraries depend on more of the format than is documented.
@Suite struct ServerMessageTests {
    func frame(_ text: String) -> Frame { Frame(text: Array(text.utf8)) }

    func channel(_ text: String) throws -> ChannelName { try #require(ChannelName(text, lengthMax: 200)) }

    func event(name: String, channel text: String, data: String) throws -> Frame {
        let channel = try channel(text)
        return Array(name.utf8).withUnsafeBytes { name in
            Array(data.utf8).withUnsafeBytes { data in ServerMessage.event(name: name, channel: channel, data: data) }
        }
    }

    @Test func connectionEstablishedHasStringData() throws {
        let socket = try #require(SocketID("123.456"))
        #expect(
            ServerMessage.connectionEstablished(socket, activityTimeoutSeconds: 120)
                == frame(
                    #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"123.456\",\"activity_timeout\":120}"}"#))
    }

    @Test func connectionEstablishedDataIsJSON() throws {
        let socket = try #require(SocketID("4294967295.4294967295"))
        let greeting = ServerMessage.connectionEstablished(socket, activityTimeoutSeconds: 30).bytes.dropFirst(2)
        let data = try #require(try JSONValue.members(of: Array(greeting)).last?.text)
        #expect(try JSONValue.members(of: data).map(\.text) == [socket.description, nil])
    }

    @Test func encodesSubscriptionSucceeded() throws {
        #expect(
            ServerMessage.subscriptionSucceeded(try channel("private-a=@,.;_-Z9"))
                == frame(
                    #"{"event":"pusher_internal:subscription_succeeded","channel":"private-a=@,.;_-Z9","data":"{}"}"#))
    }

    @Test func encodesPong() {
        #expect(ServerMessage.pong == frame(#"{"event":"pusher:pong","data":{}}"#))
    }

    @Test func errorDataIsAnObject() {
        #expect(
            ServerMessage.error(ProtocolError("No such thing"))
                == frame(#"{"event":"pusher:error","data":{"message":"No such thing","code":null}}"#))
        #expect(
            ServerMessage.error(ProtocolError("Bad \"x\"\n\0é", code: 4009))
                == frame(#"{"event":"pusher:error","data":{"message":"Bad \"x\"\n\u0000é","code":4009}}"#))
    }

    @Test func copiesNameAndDataUnchanged() throws {
        let strings = [#""""#, #""{\"a\":1}""#, #""\u00e9\/\ud83d""#, #""plain é 😀""#, "\"\u{7F}\""]
        for name in strings {
            for data in strings {
                #expect(
                    try event(name: name, channel: "news", data: data)
                        == frame(#"{"event":\#(name),"channel":"news","data":\#(data)}"#))
            }
        }
    }

    @Test func framesAnEventOfAnyLength() throws {
        for length in [0, 80, 90, 100, 10_240, 65_536] {
            let data = "\"" + String(repeating: "x", count: length) + "\""
            #expect(
                try event(name: #""e""#, channel: "c", data: data) == frame(#"{"event":"e","channel":"c","data":\#(data)}"#))
        }
    }
}
