import JSON

/// A webhook event: one of Pusher's (protocol points V1–V9), or one of what runs on top of the gateway.
package enum WebhookEvent: Equatable, Sendable {
    /// V1: a channel got its first subscriber.
    case channelOccupied(ChannelName)
    /// V4: a channel lost its last subscriber.
    case channelVacated(ChannelName)
    /// V6: a user's first connection subscribed to a presence channel.
    case memberAdded(ChannelName, userID: String)
    /// V6: a user's last connection unsubscribed from a presence channel.
    case memberRemoved(ChannelName, userID: String)
    /// V7: a client event was relayed. `userID` is the sender's; nil unless on a presence channel.
    case clientEvent(ClientEvent, on: ChannelName, from: SocketID, userID: String?)
    /// V8: a connection subscribed to a cache channel without a cached event.
    case cacheMiss(ChannelName)
    /// V9: the number of subscribed connections was sent to the subscribers.
    case subscriptionCount(ChannelName, Int)
    /// An event of what runs on top of the gateway, as a JSON object.
    case other(WebhookKinds, json: [UInt8])

    /// The event's kind: a set of one element.
    package var kind: WebhookKinds {
        switch self {
        case .channelOccupied: .channelOccupied
        case .channelVacated: .channelVacated
        case .memberAdded: .memberAdded
        case .memberRemoved: .memberRemoved
        case .clientEvent: .clientEvent
        case .cacheMiss: .cacheMiss
        case .subscriptionCount: .subscriptionCount
        case .other(let kind, _): kind
        }
    }

    /// The event as an element of a webhook request's `events`.
    package var json: [UInt8] {
        if case .other(_, let json) = self { return json }
        var json = JSONWriter()
        json.object { writeMembers(to: &$0) }
        return json.bytes
    }

    private func writeMembers(to json: inout JSONWriter) {
        switch self {
        case .channelOccupied(let channel): json.channelEvent("channel_occupied", channel)
        case .channelVacated(let channel): json.channelEvent("channel_vacated", channel)
        case .memberAdded(let channel, let userID):
            json.channelEvent("member_added", channel)
            json.member("user_id", userID)
        case .memberRemoved(let channel, let userID):
            json.channelEvent("member_removed", channel)
            json.member("user_id", userID)
        case .clientEvent(let event, let channel, let socket, let userID):
            json.channelEvent("client_event", channel)
            json.member("event", event.name)
            json.member("data", json: event.data)
            json.member("socket_id", socket.description)
            json.member("user_id", ifPresent: userID)
        case .cacheMiss(let channel): json.channelEvent("cache_miss", channel)
        case .subscriptionCount(let channel, let count):
            json.channelEvent("subscription_count", channel)
            json.member("subscription_count", count)
        case .other: preconditionFailure("its JSON is there")
        }
    }
}

/// Kinds of webhook events, as `webhooks[].events` in the configuration names them.
package struct WebhookKinds: OptionSet, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let channelOccupied = WebhookKinds(rawValue: 1)
    package static let channelVacated = WebhookKinds(rawValue: 2)
    package static let memberAdded = WebhookKinds(rawValue: 4)
    package static let memberRemoved = WebhookKinds(rawValue: 8)
    package static let clientEvent = WebhookKinds(rawValue: 16)
    package static let cacheMiss = WebhookKinds(rawValue: 32)
    package static let subscriptionCount = WebhookKinds(rawValue: 64)

    /// A kind of what runs on top of the gateway.
    /// - Parameter index: 0 to 8.
    package static func other(_ index: Int) -> WebhookKinds { WebhookKinds(rawValue: 128 << index) }

    /// `channel_occupied` and `channel_vacated`. To debounce one of these kinds, both must be recorded: a channel that
    /// is vacated and occupied again within three seconds sends neither (V5).
    package static let occupancy: WebhookKinds = [.channelOccupied, .channelVacated]
    /// `member_added` and `member_removed`, which are debounced in the same way.
    package static let membership: WebhookKinds = [.memberAdded, .memberRemoved]
    package static let all = WebhookKinds(rawValue: .max)

    /// Every kind of Pusher's, with its name in the configuration and in webhooks.
    package static let names: [(name: String, kind: WebhookKinds)] = [
        ("channel_occupied", .channelOccupied), ("channel_vacated", .channelVacated), ("member_added", .memberAdded),
        ("member_removed", .memberRemoved), ("client_event", .clientEvent), ("cache_miss", .cacheMiss),
        ("subscription_count", .subscriptionCount),
    ]

    /// These kinds, plus the other kind of each pair that is debounced: ``occupancy`` and ``membership``.
    package var withCounterparts: WebhookKinds {
        var kinds = self
        for pair in [Self.occupancy, .membership] where !isDisjoint(with: pair) { kinds.formUnion(pair) }
        return kinds
    }

    /// The kinds that a webhook lists in the configuration. An empty list means all; unknown names are ignored.
    package init(named list: [String], among names: [(name: String, kind: WebhookKinds)] = Self.names) {
        guard !list.isEmpty else {
            self = .all
            return
        }
        self = names.reduce(into: []) { kinds, known in if list.contains(known.name) { kinds.formUnion(known.kind) } }
    }
}

/// A webhook event and the application whose backend gets it.
package struct AppWebhookEvent: Equatable, Sendable {
    /// The application's index in the configured list.
    package let app: Int
    package let event: WebhookEvent

    package init(app: Int, _ event: WebhookEvent) {
        self.app = app
        self.event = event
    }
}

extension JSONWriter {
    /// Writes `name` and `channel`, with which every event of a channel begins.
    fileprivate mutating func channelEvent(_ name: String, _ channel: ChannelName) {
        member("name", name)
        member("channel", channel.text)
    }
}
