import Cluster
import FanOut
import PusherProtocol

/// What must hold when the bus has been quiet for the time of recovery.
extension ClusterWorld {
    mutating func settle() throws(Discrepancy) {
        // Whatever is away comes back first.
        try advance(by: max(0, faultsFrom - 8_000 - now) + 100)
        try advance(by: ClusterScenario.recovery)
        try judge.settle()
        for request in pending {
            throw Discrepancy("\(request.socket) has waited for \(request.channel.text) since \(request.at)")
        }
        for socket in mustClose.keys.sorted(by: { $0.bits < $1.bits }) {
            throw Discrepancy("\(socket) is open, but its user was terminated")
        }
        for index in seats.indices { try checkMembers(on: index) }
        for subscription in model.subscriptions { try check(subscription) }
        try edges.settle(model, scenario)
        for index in seats.indices { try checkSums(from: index) }
    }

    /// The members of a node that has died must be withdrawn soon, also if it does not come back.
    func checkWithdrawn() throws(Discrepancy) {
        let start = now - 3 * ClusterScenario.heartbeat - 3_000
        for index in serving where seats[index].node?.isUp == true && now - seats[index].awayUntil > 15_000 {
            for channel in scenario.channels where channel.isPresence {
                for user in seats[index].node?.hub.userIDs(on: channel, app: 0) ?? [] {
                    guard !model.hasLeft(user, channel, before: start) else {
                        throw Discrepancy("n\(index) still has the member \(user) of \(channel.text), whose node has died")
                    }
                }
            }
        }
    }

    private func checkMembers(on index: Int) throws(Discrepancy) {
        guard let node = seats[index].node else { throw Discrepancy("n\(index) has not come back") }
        for channel in scenario.channels {
            let local = model.subscribers(of: channel).filter { $0.node == index }
            let count = node.hub.occupancy(of: channel, app: 0)?.subscriptions ?? 0
            guard count == local.count else {
                throw Discrepancy("n\(index) has \(count) subscribers of \(channel.text), expected \(local.count)")
            }
            guard channel.isPresence, !local.isEmpty else { continue }
            let members = node.hub.userIDs(on: channel, app: 0).sorted()
            let expected = model.members(of: channel).sorted()
            guard members == expected else {
                throw Discrepancy("n\(index) has the members \(members) of \(channel.text), expected \(expected)")
            }
        }
    }

    private func check(_ subscription: ClusterModel.Subscription) throws(Discrepancy) {
        let channel = subscription.channel
        if channel.isPresence {
            let expected = model.members(of: channel)
            guard subscription.members == expected else {
                throw Discrepancy(
                    "\(subscription.socket) knows the members \(subscription.members.sorted()) of \(channel.text), "
                        + "expected \(expected.sorted())")
            }
        } else if scenario.rules.subscriptionCounts, scenario.dropsOneIn == nil, !scenario.hasOutages {
            let expected = model.subscribers(of: channel).count
            guard subscription.count == expected else {
                let count = subscription.count.map(String.init) ?? "no"
                throw Discrepancy("\(subscription.socket) knows \(count) subscribers of \(channel.text), expected \(expected)")
            }
        }
    }

    /// Asks a node for the sums of all channels, as a backend does.
    private mutating func checkSums(from index: Int) throws(Discrepancy) {
        seats[index].node?.ask(at: now)
        try collect(index)
        try advance(by: 2 * ClusterScenario.transitMax + 10)
        guard let answers = seats[index].node?.answers, answers.isComplete else {
            throw Discrepancy("n\(index) has no answers of the other nodes")
        }
        var sums = ChannelSums()
        sums.add(seats[index].node?.shares ?? [])
        for answer in answers.answers { sums.add(ChannelShare.list(answer)) }
        for channel in scenario.channels {
            let expected = model.subscribers(of: channel).count
            let sum = sums.occupancy(of: channel)
            guard sum?.subscriptions ?? 0 == expected,
                expected == 0 || !channel.isPresence || sum?.users == model.members(of: channel).count
            else {
                throw Discrepancy("n\(index) sums up \(channel.text) as \(sum.map { "\($0)" } ?? "empty"), expected \(expected)")
            }
        }
    }
}
