import FanOut
import PusherProtocol

/// Rules for plain names that begin as one of the patterns does: `driver-42` and `private-driver-42` mirror each other.
struct PlainRules: ChannelRules {
    let patterns: [String]

    func pattern(of channel: ChannelName) -> String? {
        let plain = ["private-", "presence-"].first { channel.text.hasPrefix($0) }.map { channel.text.dropFirst($0.count) }
        return patterns.first { (plain ?? channel.text[...]).hasPrefix($0.dropLast()) }
    }

    func mirror(of channel: ChannelName) -> ChannelName? {
        guard pattern(of: channel) != nil else { return nil }
        switch channel.access {
        case .open: return ChannelName("private-" + channel.text, lengthMax: 256)
        case .signed: return ChannelName(String(channel.text.dropFirst("private-".count)), lengthMax: 256)
        case .encrypted, .presence, .user: return nil
        }
    }

    func userChannel(aliasedBy channel: ChannelName) -> ChannelName? { nil }
    func userID(aliasedBy id: String) -> String? { nil }
    func isReserved(_ channel: ChannelName) -> Bool { false }
    func legacy(of channel: ChannelName) -> (pattern: String, legacy: Legacy)? { nil }
}

/// Requires a sign-in for plain names that rules match.
struct SignInGate: HubGate {
    let rules: PlainRules

    func denial(of subscriber: Subscriber, joining channel: ChannelName) -> SubscriptionDenial? {
        guard channel.access == .open, subscriber.user == nil, rules.pattern(of: channel) != nil else { return nil }
        return SubscriptionDenial("sign in", .notSignedIn)
    }

    func permits(_ subscriber: Subscriber, _ channel: ChannelName) -> Bool { subscriber.user != nil }
    mutating func subscribed(to channel: ChannelName, app: AppIndex, _ hub: inout Hub, _ effects: inout [Hub.Effect]) {}
    mutating func signedIn(_ subscriber: Subscriber) {}
    mutating func closed(_ socket: SocketID) {}
    mutating func releaseMemory() -> Bool { false }
}
