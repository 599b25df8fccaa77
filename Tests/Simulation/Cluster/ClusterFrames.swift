import PusherProtocol

/// What the frames mean that clients get: each meaning has its own bytes.
struct ClusterFrames {
    enum Meaning: Equatable {
        case event(Int)
        case succeeded(ChannelName)
        case added(ChannelName, userID: String)
        case removed(ChannelName, userID: String)
        case count(ChannelName, Int)
    }

    private var meanings: [[UInt8]: Meaning] = [:]

    init(_ scenario: ClusterScenario) {
        for channel in scenario.channels {
            set(.succeeded(channel), ServerMessage.subscriptionSucceeded(channel))
            for count in 0...3 * scenario.connectionsMax {
                set(.count(channel, count), ServerMessage.subscriptionCount(channel, count))
            }
            for user in scenario.users {
                set(.added(channel, userID: user), ServerMessage.memberAdded(channel, PresenceMember(id: user)))
                set(.removed(channel, userID: user), ServerMessage.memberRemoved(channel, userID: user))
            }
        }
    }

    /// An error message has none.
    func meaning(_ frame: Frame) -> Meaning? { meanings[frame.bytes] }

    private mutating func set(_ meaning: Meaning, _ frame: Frame) { meanings[frame.bytes] = meaning }

    /// The frame of a new event.
    mutating func event(_ number: Int, on channel: ChannelName) -> Frame {
        let frame = ServerMessage.event("e", channel, data: Array("\(number)".utf8))
        set(.event(number), frame)
        return frame
    }

    /// A new client event.
    mutating func clientEvent(_ number: Int, on channel: ChannelName, userID: String?) -> ClientEvent {
        let event = ClientEvent(name: "client-e", channel: channel.text, data: Array("\"\(number)\"".utf8))
        set(.event(number), ServerMessage.clientEvent(event, channel: channel, userID: userID))
        return event
    }
}
