import FanOut
import PusherProtocol

/// Compares the hub's query results with the model's.
extension Checkers {
    /// Compares the hub's counts.
    func check(_ hub: Hub, against model: ReferenceModel) throws(Discrepancy) {
        try expect(hub.subscriptionCount, model.subscriptionCount) { "the hub counts \($0) subscriptions" }
        let apps = model.rules.indices
        try expect(hub.channelCount, apps.reduce(0) { $0 + model.occupied(app: $1).count }) { "the hub counts \($0) channels" }
        try expect(hub.cacheEvictions, apps.reduce(0) { $0 + model.caches[$1].evictions }) { "the hub counts \($0) evictions" }
        for app in apps {
            try expect(hub.connectionCount(app: app), model.connectionCount(app: app)) { "app \(app) has \($0) connections" }
            try expect(hub.hasRoomForConnection(app: app), model.hasRoomForConnection(app: app)) {
                "app \(app) \($0 ? "has" : "has no") room for a connection"
            }
        }
    }

    /// Compares the results of all queries about one channel.
    func check(_ hub: Hub, _ key: ReferenceModel.ChannelKey, against model: ReferenceModel) throws(Discrepancy) {
        let (app, channel) = (key.app, key.channel)
        let name = "channel \(channel.text) of app \(app)"
        let subscribers = model.subscribers(of: key)
        // The hub must name exactly the loops on which a channel has subscribers, in ascending order.
        try expect(Array(hub.loops(of: channel, app: app)), Set(subscribers.map(\.loop)).sorted()) { "\(name) has loops \($0)" }
        try expect(hub.occupancy(of: channel, app: app).map(Counts.init), Counts(subscribers, key, model)) {
            "\(name) is occupied by \($0.map { "\($0)" } ?? "no connection")"
        }
        let members = model.members[key, default: []].map(\.id)
        try expect(hub.userIDs(on: channel, app: app), members) { "\(name) has users \($0)" }
        let (cached, expected) = (hub.cachedEvent(on: channel, app: app), model.caches[app].event(on: channel))
        try expect(cached?.frame, expected?.frame) {
            "\(name) caches \($0.map { WireMessage($0, at: 0).description } ?? "nothing")"
        }
        let milliseconds = expected.map { Int($0.expiry - model.now) }
        let secondsLeft = milliseconds.map { $0.isMultiple(of: 1_000) ? $0 / 1_000 : $0 / 1_000 + 1 }
        try expect(cached?.secondsLeft, secondsLeft) { "\(name) caches for \($0 ?? 0) seconds" }
    }

    /// Compares the list of an application's channels: those with subscribers, sorted by name, without server-to-user
    /// channels.
    func check(
        _ hub: Hub, channelsOf app: AppIndex, prefix: String, against model: ReferenceModel
    ) throws(Discrepancy) {
        let listed = Hub.occupiedChannels(app: app, prefix: prefix) { $0(hub) }
        let texts = model.occupied(app: app).map(\.text).filter { $0.hasPrefix(prefix) && !$0.hasPrefix("#") }
        try expect(listed.map(\.name), texts.sorted()) { "app \(app) has channels \($0) beginning with '\(prefix)'" }
        for (name, occupancy) in listed {
            let channel = ChannelName(name, lengthMax: 200)
            let key = channel.map { ReferenceModel.ChannelKey(app: app, channel: $0) }
            let counts = key.flatMap { Counts(model.subscribers(of: $0), $0, model) }
            try expect(Counts(occupancy), counts) { "channel \(name) of app \(app) is listed with \($0.map { "\($0)" } ?? "")" }
        }
    }

    private func expect<Value: Equatable>(
        _ value: Value, _ expected: Value, _ describe: (Value) -> String
    ) throws(Discrepancy) {
        guard value != expected else { return }
        throw Discrepancy("\(describe(value)), expected: \(describe(expected))")
    }
}

/// The number of subscriptions and users of a channel.
private struct Counts: Equatable, CustomStringConvertible {
    let subscriptions: Int
    /// Nil except on presence channels.
    let users: Int?

    init(_ occupancy: Hub.Occupancy) {
        subscriptions = occupancy.subscriptions
        users = occupancy.users
    }

    /// Nil without subscribers.
    init?(_ subscribers: [SocketID], _ key: ReferenceModel.ChannelKey, _ model: ReferenceModel) {
        guard !subscribers.isEmpty else { return nil }
        subscriptions = subscribers.count
        users = key.channel.isPresence ? model.distinctUsers(on: key).count : nil
    }

    var description: String { "\(subscriptions) connections\(users.map { " and \($0) users" } ?? "")" }
}
