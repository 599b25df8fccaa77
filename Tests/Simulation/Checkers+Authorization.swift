import Access
import FanOut
import PusherProtocol

/// Compares the hub's permissions, owners of durable channels, and statistics with the model's.
extension Checkers {
    mutating func check(
        assignmentsAfter input: SimulatedInput, _ effects: [Hub.Effect], against model: ReferenceModel
    ) throws(Discrepancy) {
        try assignments.check(after: input, effects, model)
    }

    /// Compares an application's statistics, and the permissions that the authorization endpoint queries.
    func check(
        _ hub: Hub, permissionsIn app: AppIndex, on channels: [ChannelName], against model: ReferenceModel
    ) throws(Discrepancy) {
        let statistics = hub.statistics(app: app)
        let users = Set(model.signins.filter { model.connections[$0]?.app == app }.compactMap { model.user(of: $0)?.id })
        let expected = [
            model.connectionCount(app: app), model.occupied(app: app).count,
            model.occupied(app: app).reduce(0) { $0 + model.subscribers(of: .init(app: app, channel: $1)).count }, users.count,
        ]
        guard [statistics.connections, statistics.channels, statistics.subscriptions, statistics.users] == expected else {
            throw Discrepancy("the statistics of app \(app) are \(statistics), expected: \(expected)")
        }
        guard model.fleetRules[app] != nil else { return }
        for channel in channels {
            for identity in Self.identities {
                let mayJoin = hub.mayJoin(identity, channel, app: app)
                guard mayJoin != model.mayJoin(identity, .init(app: app, channel: channel)) else { continue }
                throw Discrepancy("\(identity.key) \(mayJoin ? "may" : "may not") join \(channel.text) in app \(app)")
            }
        }
    }

    /// Compares the owner that the connection is on a channel, and the owner's device.
    /// - Returns: whether the connection's user owns the channel.
    func check(
        _ hub: Hub, ownershipOf socket: SocketID, on key: ReferenceModel.ChannelKey, against model: ReferenceModel
    ) throws(Discrepancy) -> Bool {
        let ownership = hub.ownership(of: socket, on: key.channel).map {
            ReferenceModel.Ownership(channel: $0.channel, owner: $0.owner, device: $0.device)
        }
        let expected = model.ownership(of: socket, on: key)
        guard ownership == expected else {
            let (found, wanted) = (ownership?.description ?? "nobody", expected?.description ?? "nobody")
            throw Discrepancy("as the subscriber \(socket) of \(key.channel.text), \(found); expected: \(wanted)")
        }
        return ownership != nil
    }

    private static let identities =
        SimulatedFleet.driverIDs.map { Identity(role: .driver, id: $0, bookings: ["R2"]) } + [
            Identity(role: .customer, id: "1", bookings: ["R1", "R3"]), Identity(role: .admin, id: "1"),
            Identity(role: .ops, id: "1", bookings: ["R1"]),
        ]
}
