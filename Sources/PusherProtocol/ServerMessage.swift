/// What the server says to one client, encoded.
package enum ServerMessage {
    /// The first message of a connection; `data` is a JSON string (C2: pusher-websocket-swift reads nothing else).
    package static func connectionEstablished(_ socket: SocketID, activityTimeoutSeconds: Int) -> Frame {
        var json = JSONWriter()
        json.raw(#"{"event":"pusher:connection_established","data":"{\"socket_id\":\""#)
        json.raw(socket.description.utf8)
        json.raw(#"\",\"activity_timeout\":"#)
        json.integer(activityTimeoutSeconds)
        json.raw(#"}"}"#)
        return Frame(text: json.bytes)
    }

    /// S1: on channels without presence `data` is the string `{}`.
    package static func subscriptionSucceeded(_ channel: ChannelName) -> Frame {
        var json = JSONWriter()
        json.raw(#"{"event":"pusher_internal:subscription_succeeded","channel":"#)
        json.string(channel.text)
        json.raw(#","data":"{}"}"#)
        return Frame(text: json.bytes)
    }

    /// P1: data is empty.
    package static let pong = Frame(text: Array(#"{"event":"pusher:pong","data":{}}"#.utf8))

    /// M3: `data` is an object, or the Swift client ignores the error.
    package static func error(_ error: ProtocolError) -> Frame {
        var json = JSONWriter()
        json.raw(#"{"event":"pusher:error","data":{"message":"#)
        json.string(error.message)
        json.raw(#","code":"#)
        if let code = error.code { json.integer(code) } else { json.raw("null") }
        json.raw("}}")
        return Frame(text: json.bytes)
    }

    /// An event as subscribers get it (S2): name and data are the publisher's own JSON strings, quotes and escapes
    /// included, passed through untouched.
    package static func event(name: UnsafeRawBufferPointer, channel: ChannelName, data: UnsafeRawBufferPointer) -> Frame {
        var channelText = channel.text
        return channelText.withUTF8 { channelBytes in
            Frame(pieces: [
                Self.bytes(#"{"event":"#), name, Self.bytes(#","channel":""#), UnsafeRawBufferPointer(channelBytes),
                Self.bytes(#"","data":"#), data, Self.bytes("}"),
            ])
        }
    }

    /// A literal's bytes, which live as long as the process.
    private static func bytes(_ text: StaticString) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}

/// A client's mistake that costs it an error event and nothing else (PROTOCOL M2, M3).
package struct ProtocolError: Error, Equatable, Sendable {
    /// For the app's developer: what was wrong and what to do.
    package let message: String
    /// One of Pusher's codes, or nil where it has none.
    package let code: Int?

    package init(_ message: String, code: Int? = nil) {
        self.message = message
        self.code = code
    }
}
