import JSON

/// A webhook event: one of Pusher's (protocol points V1–V9), or one of Fleetwire's two about pushes,
/// `notificationFailed` and `deviceRemoved`, which only the backend of the fleet's application gets.
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
    /// A push failed and will not be retried.
    case notificationFailed(notificationID: String, userID: String, provider: String, reason: String)
    /// A device was removed because its token is invalid. `token` is masked.
    case deviceRemoved(userID: String, provider: String, token: String, reason: String)

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
        case .notificationFailed: .notificationFailed
        case .deviceRemoved: .deviceRemoved
        }
    }

    /// The event as an element of a webhook request's `events`.
    package var json: [UInt8] {
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
        case .notificationFailed(let notificationID, let userID, let provider, let reason):
            json.member("name", "notification_failed")
            json.member("notificationId", notificationID)
            json.member("userId", userID)
            json.member("provider", provider)
            json.member("reason", reason)
        case .deviceRemoved(let userID, let provider, let token, let reason):
            json.member("name", "device_removed")
            json.member("userId", userID)
            json.member("provider", provider)
            json.member("token", token)
            json.member("reason", reason)
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
    package static let notificationFailed = WebhookKinds(rawValue: 128)
    package static let deviceRemoved = WebhookKinds(rawValue: 256)

    /// `channel_occupied` and `channel_vacated`. To debounce one of these kinds, both must be recorded: a channel that
    /// is vacated and occupied again within three seconds sends neither (V5).
    package static let occupancy: WebhookKinds = [.channelOccupied, .channelVacated]
    /// `member_added` and `member_removed`, which are debounced in the same way.
    package static let membership: WebhookKinds = [.memberAdded, .memberRemoved]
    package static let all = WebhookKinds(rawValue: 511)

    /// Every kind, with its name in the configuration and in webhooks.
    package static let names: [(name: String, kind: WebhookKinds)] = [
        ("channel_occupied", .channelOccupied), ("channel_vacated", .channelVacated), ("member_added", .memberAdded),
        ("member_removed", .memberRemoved), ("client_event", .clientEvent), ("cache_miss", .cacheMiss),
        ("subscription_count", .subscriptionCount), ("notification_failed", .notificationFailed),
        ("device_removed", .deviceRemoved),
    ]

    /// These kinds, plus the other kind of each pair that is debounced: ``occupancy`` and ``membership``.
    package var withCounterparts: WebhookKinds {
        var kinds = self
        for pair in [Self.occupancy, .membership] where !isDisjoint(with: pair) { kinds.formUnion(pair) }
        return kinds
    }

    /// The kinds that a webhook lists in the configuration. An empty list means all; unknown names are ignored.
    package init(named list: [String]) {
        guard !list.isEmpty else {
            self = .all
            return
        }
        self = Self.names.reduce(into: []) { kinds, known in if list.contains(known.name) { kinds.formUnion(known.kind) } }
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
