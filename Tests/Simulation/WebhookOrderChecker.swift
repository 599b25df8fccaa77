import FanOut
import PusherProtocol

/// Checks the webhook events as a backend could, without the model: only vacant channels become occupied, only absent
/// members join, and vacant channels have no other events (protocol points V1, V4, V6).
struct WebhookOrderChecker {
    private var occupied: Set<ReferenceModel.ChannelKey> = []
    private var members: [ReferenceModel.ChannelKey: Set<String>] = [:]

    /// Checks one event against those before it.
    mutating func read(_ event: AppWebhookEvent) throws(Discrepancy) {
        switch event.event {
        case .channelOccupied(let channel):
            try expect(occupied.insert(key(event, channel)).inserted, event, "it is already occupied")
        case .channelVacated(let channel):
            let key = key(event, channel)
            try expect(occupied.remove(key) != nil, event, "it is already vacant")
            try expect(members.removeValue(forKey: key)?.isEmpty ?? true, event, "it has members")
        case .memberAdded(let channel, let userID):
            let key = key(event, channel)
            try expect(occupied.contains(key), event, "it is vacant")
            try expect(members[key, default: []].insert(userID).inserted, event, "the member is present")
        case .memberRemoved(let channel, let userID):
            try expect(members[key(event, channel)]?.remove(userID) != nil, event, "the member is absent")
        case .clientEvent(_, let channel, _, _), .cacheMiss(let channel), .subscriptionCount(let channel, _):
            try expect(occupied.contains(key(event, channel)), event, "it is vacant")
        case .other: throw Discrepancy("the hub recorded an event of what runs on top of it")
        }
    }

    private func key(_ event: AppWebhookEvent, _ channel: ChannelName) -> ReferenceModel.ChannelKey {
        ReferenceModel.ChannelKey(app: event.app, channel: channel)
    }

    private func expect(_ isValid: Bool, _ event: AppWebhookEvent, _ problem: String) throws(Discrepancy) {
        guard !isValid else { return }
        throw Discrepancy("the backend of app \(event.app) got \(event.text), but \(problem)")
    }
}

extension Checkers {
    /// Compares the webhook events of one input with the model's, including order.
    mutating func check(_ events: [AppWebhookEvent], against model: ReferenceModel) throws(Discrepancy) {
        for event in events { try webhookOrder.read(event) }
        guard events != model.webhookEvents else { return }
        throw Discrepancy("backends got \(events.map(\.text)), expected \(model.webhookEvents.map(\.text))")
    }
}

extension AppWebhookEvent {
    fileprivate var text: String { String(decoding: event.json, as: UTF8.self) }
}
