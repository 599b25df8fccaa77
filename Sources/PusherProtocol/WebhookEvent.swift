import JSON

/// What an application's backend is told over a webhook (PROTOCOL V1–V9), and what the fleet's is told besides.
package enum WebhookEvent: Equatable, Sendable {
    /// V1: a channel has its first subscriber.
    case channelOccupied(ChannelName)
    /// V4: the last one has gone.
    case channelVacated(ChannelName)
    /// V6: a user's first connection has come to a presence channel.
    case memberAdded(ChannelName, userID: String)
    /// V6: his last one has gone.
    case memberRemoved(ChannelName, userID: String)
    /// V7: a client's event, as it was passed on; with who sent it on presence channels only.
    case clientEvent(ClientEvent, on: ChannelName, from: SocketID, userID: String?)
    /// V8: somebody has come to a cache channel that holds nothing.
    case cacheMiss(ChannelName)
    /// V9: how many connections are subscribed, whenever they are told so.
    case subscriptionCount(ChannelName, Int)
    /// A notification that a provider will never deliver.
    case notificationFailed(notificationID: String, userID: String, provider: String, reason: String)
    /// A device whose token is no longer any good; of the token only its ends.
    case deviceRemoved(userID: String, provider: String, token: String, reason: String)

    /// Which kind it is: one of them.
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

    /// An element of a webhook's `events`.
    package var json: [UInt8] {
        var json = JSONWriter()
        switch self {
        case .channelOccupied(let channel): json.begin("channel_occupied", channel)
        case .channelVacated(let channel): json.begin("channel_vacated", channel)
        case .memberAdded(let channel, let userID):
            json.begin("member_added", channel)
            json.member(#","user_id":"#, userID)
        case .memberRemoved(let channel, let userID):
            json.begin("member_removed", channel)
            json.member(#","user_id":"#, userID)
        case .clientEvent(let event, let channel, let socket, let userID):
            json.begin("client_event", channel)
            json.member(#","event":"#, event.name)
            json.raw(#","data":"#)
            json.raw(event.data)
            json.member(#","socket_id":"#, socket.description)
            if let userID { json.member(#","user_id":"#, userID) }
        case .cacheMiss(let channel): json.begin("cache_miss", channel)
        case .subscriptionCount(let channel, let count):
            json.begin("subscription_count", channel)
            json.raw(#","subscription_count":"#)
            json.integer(count)
        case .notificationFailed(let notificationID, let userID, let provider, let reason):
            json.member(#"{"name":"notification_failed","notificationId":"#, notificationID)
            json.member(#","userId":"#, userID)
            json.member(#","provider":"#, provider)
            json.member(#","reason":"#, reason)
        case .deviceRemoved(let userID, let provider, let token, let reason):
            json.member(#"{"name":"device_removed","userId":"#, userID)
            json.member(#","provider":"#, provider)
            json.member(#","token":"#, token)
            json.member(#","reason":"#, reason)
        }
        json.raw("}")
        return json.bytes
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

    /// Whether a channel has subscribers: the two go together, for either may take the other back (V5).
    package static let occupancy: WebhookKinds = [.channelOccupied, .channelVacated]
    /// Who is on presence channels, likewise.
    package static let membership: WebhookKinds = [.memberAdded, .memberRemoved]
    package static let all = WebhookKinds(rawValue: 511)

    /// Every kind by its name.
    package static let names: [(name: String, kind: WebhookKinds)] = [
        ("channel_occupied", .channelOccupied), ("channel_vacated", .channelVacated), ("member_added", .memberAdded),
        ("member_removed", .memberRemoved), ("client_event", .clientEvent), ("cache_miss", .cacheMiss),
        ("subscription_count", .subscriptionCount), ("notification_failed", .notificationFailed),
        ("device_removed", .deviceRemoved),
    ]

    /// These and those that may take them back: what has to be known to tell these alone.
    package var withCounterparts: WebhookKinds {
        var kinds = self
        for pair in [Self.occupancy, .membership] where !isDisjoint(with: pair) { kinds.formUnion(pair) }
        return kinds
    }

    /// The kinds that an endpoint lists; an empty list means all, and a name that there is not means nothing.
    package init(named list: [String]) {
        guard !list.isEmpty else {
            self = .all
            return
        }
        self = Self.names.reduce(into: []) { kinds, known in if list.contains(known.name) { kinds.formUnion(known.kind) } }
    }
}

/// A webhook event, and whose backend it is for.
package struct AppWebhookEvent: Equatable, Sendable {
    /// The application's place in the configured list.
    package let app: Int
    package let event: WebhookEvent

    package init(app: Int, _ event: WebhookEvent) {
        self.app = app
        self.event = event
    }
}

extension JSONWriter {
    fileprivate mutating func begin(_ name: StaticString, _ channel: ChannelName) {
        raw(#"{"name":""#)
        raw(name)
        member(#"","channel":"#, channel.text)
    }

    /// `name` with its punctuation, and a text.
    fileprivate mutating func member(_ name: StaticString, _ text: String) {
        raw(name)
        string(text)
    }
}
