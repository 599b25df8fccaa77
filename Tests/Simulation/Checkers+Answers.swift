import FanOut
import PusherProtocol

/// Compares the hub's query results with the model's.
extension Checkers {
    /// Compares the hub's counts.
    func check(_ hub: Hub, against model: ReferenceModel) throws(Discrepancy) {
        try expect(hub.subscriptionCount, model.subscriptionCount) { "the hub counts \($0) subscriptions" }
        let apps = model.rules.indices
        try expect(hub.channelCount, apps.reduce(0) { $0 + model.occupied(app: $1).count }) { "the hub counts \($0) channels" }
        try expect(hub.cacheEvictions, apps.reduce(0) { $0 + model.kept[$1].evictions }) { "the hub counts \($0) evictions" }
        for app in apps {
            try expect(hub.connectionCount(app: app), model.connectionCount(app: app)) { "app \(app) has \($0) connections" }
            try expect(hub.hasRoomForConnection(app: app), model.hasRoomForConnection(app: app)) {
                "app \(app) \($0 ? "has" : "has no") room for a connection"
            }
        }
    }

    /// Compares all queries about one channel.
    func check(_ hub: Hub, _ place: ReferenceModel.ChannelKey, against model: ReferenceModel) throws(Discrepancy) {
        let (app, channel) = (place.app, place.channel)
        let name = "channel \(channel.text) of app \(app)"
        let subscribers = model.subscribers(of: place)
        // The hub must name exactly the loops on which a channel has subscribers, in ascending order.
        try expect(Array(hub.loops(of: channel, app: app)), Set(subscribers.map(\.loop)).sorted()) { "\(name) has loops \($0)" }
        try expect(hub.occupancy(of: channel, app: app).map(Counts.init), Counts(subscribers, place, model)) {
            "\(name) is occupied by \($0.map { "\($0)" } ?? "no connection")"
        }
        let members = model.members[place, default: []].map(\.id)
        try expect(hub.userIDs(on: channel, app: app), members) { "\(name) has users \($0)" }
        let (cached, kept) = (hub.cachedEvent(on: channel, app: app), model.kept[app].event(on: channel))
        try expect(cached?.frame, kept?.frame) { "\(name) caches \($0.map { WireMessage($0, at: 0).description } ?? "nothing")" }
        let milliseconds = kept.map { Int($0.expiry - model.now) }
        let secondsLeft = milliseconds.map { $0.isMultiple(of: 1_000) ? $0 / 1_000 : $0 / 1_000 + 1 }
        try expect(cached?.secondsLeft, secondsLeft) { "\(name) caches for \($0 ?? 0) seconds" }
    }

    /// All channels with subscribers, sorted by name, without server-to-user channels.
    func check(
        _ hub: Hub, channelsOf app: AppIndex, prefix: String, against model: ReferenceModel
    ) throws(Discrepancy) {
        let named = hub.occupiedChannels(app: app, prefix: prefix)
        let texts = model.occupied(app: app).map(\.text).filter { $0.hasPrefix(prefix) && !$0.hasPrefix("#") }
        try expect(named.map(\.name), texts.sorted()) { "app \(app) has channels \($0) beginning with '\(prefix)'" }
        for (name, occupancy) in named {
            let channel = ChannelName(name, lengthMax: 200)
            let place = channel.map { ReferenceModel.ChannelKey(app: app, channel: $0) }
            let counts = place.flatMap { Counts(model.subscribers(of: $0), $0, model) }
            try expect(Counts(occupancy), counts) { "channel \(name) of app \(app) is listed with \($0.map { "\($0)" } ?? "")" }
        }
    }

    private func expect<Answer: Equatable>(
        _ answer: Answer, _ expected: Answer, _ text: (Answer) -> String
    ) throws(Discrepancy) {
        guard answer != expected else { return }
        throw Discrepancy("\(text(answer)), expected: \(text(expected))")
    }
}

/// The size of a channel.
private struct Counts: Equatable, CustomStringConvertible {
    let subscriptions: Int
    /// On presence channels only.
    let users: Int?

    init(_ occupancy: Hub.Occupancy) {
        subscriptions = occupancy.subscriptions
        users = occupancy.users
    }

    /// Nil without subscribers.
    init?(_ subscribers: [SocketID], _ place: ReferenceModel.ChannelKey, _ model: ReferenceModel) {
        guard !subscribers.isEmpty else { return nil }
        subscriptions = subscribers.count
        users = place.channel.isPresence ? model.distinctUsers(on: place).count : nil
    }

    var description: String { "\(subscriptions) connections\(users.map { " and \($0) users" } ?? "")" }
}
