import FanOut
import PusherProtocol

/// What a backend knows from its webhooks alone: a channel that becomes occupied was not, a member who comes was not there,
/// and nothing happens on a channel that nobody is on (PROTOCOL V1, V4, V6).
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
            try expect(members.removeValue(forKey: place)?.isEmpty ?? true, notice, "somebody is there")
        case .memberAdded(let channel, let userID):
            let place = place(notice, channel)
            try expect(occupied.contains(place), notice, "nobody is there")
            try expect(members[place, default: []].insert(userID).inserted, notice, "he was there")
        case .memberRemoved(let channel, let userID):
            try expect(members[place(notice, channel)]?.remove(userID) != nil, notice, "he was not there")
        case .clientEvent(_, let channel, _, _), .cacheMiss(let channel), .subscriptionCount(let channel, _):
            try expect(occupied.contains(place(notice, channel)), notice, "nobody is there")
        case .notificationFailed, .deviceRemoved:
            throw Discrepancy("the hub knows of no pushes, and told a backend of one")
        }
    }

    private func place(_ notice: AppWebhookEvent, _ channel: ChannelName) -> ReferenceModel.ChannelKey {
        ReferenceModel.ChannelKey(app: notice.app, channel: channel)
    }

    private func expect(_ isRight: Bool, _ notice: AppWebhookEvent, _ text: String) throws(Discrepancy) {
        guard !isRight else { return }
        throw Discrepancy("the backend of app \(notice.app) was told \(notice.text), but \(text)")
    }
}

extension Checkers {
    /// What backends were told of one input: all that the model has, in its order, and nothing that cannot be.
    mutating func check(_ notices: [AppWebhookEvent], against model: ReferenceModel) throws(Discrepancy) {
        for notice in notices { try webhookOrder.read(notice) }
        guard notices != model.webhookEvents else { return }
        throw Discrepancy("backends were told \(notices.map(\.text)), expected \(model.webhookEvents.map(\.text))")
    }
}

extension AppWebhookEvent {
    fileprivate var text: String { String(decoding: event.json, as: UTF8.self) }
}
