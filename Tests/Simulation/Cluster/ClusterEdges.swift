import PusherProtocol

/// The edges that webhooks were told, of all nodes in the order of time.
struct ClusterEdges {
    private enum Key: Hashable {
        case channel(ChannelName)
        case member(ClusterModel.Membership)
    }

    /// Whether the last edge was the first of its kind: occupied, or added.
    private var isOn: [Key: Bool] = [:]
    private(set) var count = 0

    /// - Parameter isStrict: whether each edge must be told exactly once.
    mutating func told(_ event: WebhookEvent, isStrict: Bool) throws(Discrepancy) {
        switch event {
        case .channelOccupied(let channel): try told(.channel(channel), true, event, isStrict)
        case .channelVacated(let channel): try told(.channel(channel), false, event, isStrict)
        case .memberAdded(let channel, let userID):
            try told(.member(ClusterModel.Membership(channel: channel, userID: userID)), true, event, isStrict)
        case .memberRemoved(let channel, let userID):
            try told(.member(ClusterModel.Membership(channel: channel, userID: userID)), false, event, isStrict)
        default: break
        }
    }

    private mutating func told(_ key: Key, _ isOn: Bool, _ event: WebhookEvent, _ isStrict: Bool) throws(Discrepancy) {
        count += 1
        let before = self.isOn.updateValue(isOn, forKey: key) ?? false
        if isStrict, before == isOn { throw Discrepancy("webhooks were told twice in a row: \(event)") }
    }

    /// Compares the last edges with the model.
    func settle(_ model: ClusterModel, _ scenario: ClusterScenario) throws(Discrepancy) {
        for channel in scenario.channels {
            let isOccupied = !model.subscribers(of: channel).isEmpty
            guard isOn[.channel(channel), default: false] == isOccupied else {
                throw Discrepancy("webhooks believe that \(channel.text) is \(isOccupied ? "vacated" : "occupied")")
            }
            guard channel.isPresence else { continue }
            let members = model.members(of: channel)
            for user in scenario.users {
                let isMember = isOn[.member(ClusterModel.Membership(channel: channel, userID: user)), default: false]
                guard isMember == members.contains(user) else {
                    throw Discrepancy("webhooks believe that \(user) is \(isMember ? "" : "not ")on \(channel.text)")
                }
            }
        }
    }
}
