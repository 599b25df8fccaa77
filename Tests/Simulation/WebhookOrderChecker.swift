import FanOut
import PusherProtocol

/// What a backend can check from its webhooks alone: only vacant channels become occupied, only absent members join, and
/// vacant channels have no other events (PROTOCOL V1, V4, V6).
struct WebhookOrderChecker {
    private var occupied: Set<ReferenceModel.ChannelKey> = []
    private var members: [ReferenceModel.ChannelKey: Set<String>] = [:]

    mutating func read(_ notice: AppWebhookEvent) throws(Discrepancy) {
        switch notice.event {
        case .channelOccupied(let channel):
            try expect(occupied.insert(place(notice, channel)).inserted, notice, "it was so")
        case .channelVacated(let channel):
            let place = place(notice, channel)
            try expect(occupied.remove(place) != nil, notice, "it was so")
            try expect(members.removeValue(forKey: place)?.isEmpty ?? true, notice, "it has members")
        case .memberAdded(let channel, let userID):
            let place = place(notice, channel)
            try expect(occupied.contains(place), notice, "it is vacant")
            try expect(members[place, default: []].insert(userID).inserted, notice, "he was there")
        case .memberRemoved(let channel, let userID):
            try expect(members[place(notice, channel)]?.remove(userID) != nil, notice, "he was not there")
        case .clientEvent(_, let channel, _, _), .cacheMiss(let channel), .subscriptionCount(let channel, _):
            try expect(occupied.contains(place(notice, channel)), notice, "it is vacant")
        case .notificationFailed, .deviceRemoved:
            throw Discrepancy("the hub recorded an event of push notifications")
        }
    }

    private func place(_ notice: AppWebhookEvent, _ channel: ChannelName) -> ReferenceModel.ChannelKey {
        ReferenceModel.ChannelKey(app: notice.app, channel: channel)
    }

    private func expect(_ isRight: Bool, _ notice: AppWebhookEvent, _ text: String) throws(Discrepancy) {
        guard !isRight else { return }
        throw Discrepancy("the backend of app \(notice.app) got \(notice.text), but \(text)")
    }
}

extension Checkers {
    /// Compares the webhook events of one input with the model's, including order.
    mutating func check(_ events: [AppWebhookEvent], against model: ReferenceModel) throws(Discrepancy) {
        for notice in events { try webhookOrder.read(notice) }
        guard events != model.webhookEvents else { return }
        throw Discrepancy("backends got \(events.map(\.text)), expected \(model.webhookEvents.map(\.text))")
    }
}

extension AppWebhookEvent {
    fileprivate var text: String { String(decoding: event.json, as: UTF8.self) }
}
