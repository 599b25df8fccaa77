import JSON

/// Encodes the server's messages. S1, C2 and the like are protocol points (docs/protocol.md).
package enum ServerMessage {
    /// The first message of a connection; `data` is a JSON string (C2: pusher-websocket-swift reads nothing else).
    package static func connectionEstablished(_ socket: SocketID, activityTimeoutSeconds: Int) -> Frame {
        var json = JSONWriter()
        json.raw(#"{"event":"pusher:connection_established","data":"{\"socket_id\":\""#)
        json.integer(socket.salt)
        json.raw(".")
        json.integer(socket.place)
        json.raw(#"\",\"activity_timeout\":"#)
        json.integer(activityTimeoutSeconds)
        json.raw(#"}"}"#)
        return Frame(text: json.bytes)
    }

    /// S1: on channels other than presence channels, `data` is the string `{}`.
    package static func subscriptionSucceeded(_ channel: ChannelName) -> Frame {
        var json = JSONWriter()
        json.raw(#"{"event":"pusher_internal:subscription_succeeded","channel":"#)
        json.string(channel.text)
        json.raw(#","data":"{}"}"#)
        return Frame(text: json.bytes)
    }

    /// S1, R1: on presence channels, `data` is the member list as a string. Each user occurs once.
    package static func subscriptionSucceeded(_ channel: ChannelName, members: [PresenceMember]) -> Frame {
        var data = JSONWriter(capacity: 64 + members.count * 64)
        data.raw(#"{"presence":{"ids":["#)
        for (index, member) in members.enumerated() {
            if index > 0 { data.raw(",") }
            data.string(member.id)
        }
        data.raw(#"],"hash":{"#)
        for (index, member) in members.enumerated() {
            if index > 0 { data.raw(",") }
            data.string(member.id)
            data.raw(":")
            if let info = member.info { data.raw(info) } else { data.raw("null") }
        }
        data.raw(#"},"count":"#)
        data.integer(members.count)
        data.raw("}}")
        return event("pusher_internal:subscription_succeeded", channel, data: data.bytes)
    }

    /// R2: a user's first connection subscribed.
    package static func memberAdded(_ channel: ChannelName, _ member: PresenceMember) -> Frame {
        var data = JSONWriter()
        data.raw(#"{"user_id":"#)
        data.string(member.id)
        if let info = member.info {
            data.raw(#","user_info":"#)
            data.raw(info)
        }
        data.raw("}")
        return event("pusher_internal:member_added", channel, data: data.bytes)
    }

    /// R3: a user's last connection unsubscribed.
    package static func memberRemoved(_ channel: ChannelName, userID: String) -> Frame {
        var data = JSONWriter()
        data.raw(#"{"user_id":"#)
        data.string(userID)
        data.raw("}")
        return event("pusher_internal:member_removed", channel, data: data.bytes)
    }

    /// K1: the cache channel has no cached event. `data` is the string `{}`, as the hosted service sends it: a client that
    /// decodes all events into one type needs it.
    package static func cacheMiss(_ channel: ChannelName) -> Frame {
        var json = JSONWriter()
        json.raw(#"{"event":"pusher:cache_miss","channel":"#)
        json.string(channel.text)
        json.raw(#","data":"{}"}"#)
        return Frame(text: json.bytes)
    }

    /// N1: the number of subscribed connections.
    package static func subscriptionCount(_ channel: ChannelName, _ count: Int) -> Frame {
        event("pusher_internal:subscription_count", channel, data: Array(#"{"subscription_count":\#(count)}"#.utf8))
    }

    /// U1: `user_data` as it was signed.
    package static func signinSuccess(_ user: SignedInUser) -> Frame {
        var data = JSONWriter()
        data.raw(#"{"user_data":"#)
        data.string(user.userData)
        data.raw("}")
        return event("pusher:signin_success", nil, data: data.bytes)
    }

    /// W1, W2: watched users that went online or offline. At least one list must not be empty.
    package static func watchlistEvents(online: [String], offline: [String]) -> Frame {
        var data = JSONWriter()
        data.raw(#"{"events":["#)
        for (index, (name, ids)) in [("online", online), ("offline", offline)].filter({ !$0.1.isEmpty }).enumerated() {
            if index > 0 { data.raw(",") }
            data.raw(#"{"name":"#)
            data.string(name)
            data.raw(#","user_ids":["#)
            for (index, id) in ids.enumerated() {
                if index > 0 { data.raw(",") }
                data.string(id)
            }
            data.raw("]}")
        }
        data.raw("]}")
        return event("pusher_internal:watchlist_events", nil, data: data.bytes)
    }

    /// A client event for the other subscribers (E1). `userID` is the sender's; nil unless on a presence channel (E2).
    package static func clientEvent(_ event: ClientEvent, channel: ChannelName, userID: String?) -> Frame {
        var json = JSONWriter(capacity: event.data.count + 200)
        json.raw(#"{"event":"#)
        json.string(event.name)
        json.raw(#","channel":"#)
        json.string(channel.text)
        json.raw(#","data":"#)
        json.raw(event.data)
        if let userID {
            json.raw(#","user_id":"#)
            json.string(userID)
        }
        json.raw("}")
        return Frame(text: json.bytes)
    }

    /// P4: a ping frame and a ping event. Some native clients respond only to the frame. Scripts in browsers see only
    /// the event.
    package static let ping = Frame(joining: [Frame.ping, Frame(text: Array(#"{"event":"pusher:ping","data":{}}"#.utf8))])

    /// P1: the response to a client's ping.
    package static let pong = Frame(text: Array(#"{"event":"pusher:pong","data":{}}"#.utf8))

    /// M3: `data` must be an object; otherwise pusher-websocket-swift ignores the error.
    package static func error(_ error: ProtocolError) -> Frame {
        var json = JSONWriter()
        json.raw(#"{"event":"pusher:error","data":{"message":"#)
        json.string(error.message)
        json.raw(#","code":"#)
        if let code = error.code { json.integer(code) } else { json.raw("null") }
        json.raw("}}")
        return Frame(text: json.bytes)
    }

    /// A published event (S2). `name` and `data` are the publisher's JSON strings, quotes and escapes included; their
    /// bytes are copied unchanged.
    package static func event(name: UnsafeRawBufferPointer, channel: ChannelName, data: UnsafeRawBufferPointer) -> Frame {
        var channelText = channel.text
        return channelText.withUTF8 { channelBytes in
            Frame(pieces: [
                Self.bytes(#"{"event":"#), name, Self.bytes(#","channel":""#), UnsafeRawBufferPointer(channelBytes),
                Self.bytes(#"","data":"#), data, Self.bytes("}"),
            ])
        }
    }

    /// A server event.
    /// - Parameter data: UTF-8; it is sent as a string.
    package static func event(_ name: String, _ channel: ChannelName, data: [UInt8]) -> Frame {
        var nameJSON = JSONWriter()
        nameJSON.string(name)
        var dataJSON = JSONWriter(capacity: data.count * 5 / 4)
        dataJSON.string(utf8: data)
        return nameJSON.bytes.withUnsafeBytes { name in
            dataJSON.bytes.withUnsafeBytes { event(name: name, channel: channel, data: $0) }
        }
    }

    /// The event of ``event(name:channel:data:)`` for another channel.
    /// - Parameter channel: the channel that `frame` names.
    package static func event(_ frame: Frame, on channel: ChannelName, movedTo other: ChannelName) -> Frame {
        var otherText = other.text
        return frame.bytes.withUnsafeBytes { bytes in
            let payload = Frame.payload(of: bytes)
            var end = #"{"event":""#.utf8.count
            // Finds the end of the event's name, in which quotes are escaped.
            while payload[end] != UInt8(ascii: "\"") { end += payload[end] == UInt8(ascii: "\\") ? 2 : 1 }
            let start = end + #"","channel":""#.utf8.count
            return otherText.withUTF8 { otherBytes in
                Frame(pieces: [
                    UnsafeRawBufferPointer(rebasing: payload[..<start]), UnsafeRawBufferPointer(otherBytes),
                    UnsafeRawBufferPointer(rebasing: payload[(start + channel.text.utf8.count)...]),
                ])
            }
        }
    }

    /// The `data` of an event that this type encoded: a JSON string, as published. Nil if the event has no data.
    package static func data(of frame: Frame) -> [UInt8]? {
        var data: [UInt8]?
        frame.bytes.withUnsafeBytes { bytes in
            try? JSONReader.object(Frame.payload(of: bytes)) { key, value in
                if key.equals("data") { data = Array(value.raw) }
            }
        }
        return data
    }

    /// A server event. Its data is a JSON string, which all clients read; pusher-websocket-swift reads nothing else.
    private static func event(_ name: StaticString, _ channel: ChannelName?, data: [UInt8]) -> Frame {
        var json = JSONWriter(capacity: data.count * 2 + 128)
        json.raw(#"{"event":""#)
        json.raw(name)
        json.raw("\"")
        if let channel {
            json.raw(#","channel":"#)
            json.string(channel.text)
        }
        json.raw(#","data":"#)
        json.string(utf8: data)
        json.raw("}")
        return Frame(text: json.bytes)
    }

    /// The bytes of a literal; they live as long as the process.
    private static func bytes(_ text: StaticString) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}
