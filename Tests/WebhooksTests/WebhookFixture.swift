import JSON
import PusherProtocol

@testable import Webhooks

/// A channel name. The process ends if `text` is not a valid one.
func name(_ text: String) -> ChannelName {
    guard let name = ChannelName(text, lengthMax: 200) else { preconditionFailure("\"\(text)\" is not a channel name") }
    return name
}

func occupied(_ channel: String, app: Int = 0) -> AppWebhookEvent { AppWebhookEvent(app: app, .channelOccupied(name(channel))) }

func vacated(_ channel: String, app: Int = 0) -> AppWebhookEvent { AppWebhookEvent(app: app, .channelVacated(name(channel))) }

func added(_ id: String, _ channel: String = "presence-a") -> AppWebhookEvent {
    AppWebhookEvent(app: 0, .memberAdded(name(channel), userID: id))
}

func removed(_ id: String, _ channel: String = "presence-a") -> AppWebhookEvent {
    AppWebhookEvent(app: 0, .memberRemoved(name(channel), userID: id))
}

func subscriptionCount(_ count: Int, app: Int = 0) -> AppWebhookEvent {
    AppWebhookEvent(app: app, .subscriptionCount(name("a"), count))
}

func endpoint(
    app: Int = 0, _ url: String = "https://backend.test/hooks", events: WebhookKinds = .all, batch: Bool = false
) -> WebhookEndpoint {
    WebhookEndpoint(
        appIndex: app, key: "key\(app + 1)", secret: "secret\(app + 1)", url: url, events: events, batch: batch,
        allowsPrivate: false)
}

/// An event that consists of a JSON string, padded to `bytes` bytes if it is shorter.
func event(_ text: String, bytes: Int = 0) -> [UInt8] {
    Array("\"\(text)\(String(repeating: ".", count: max(0, bytes - text.utf8.count - 2)))\"".utf8)
}

extension WebhookRequest {
    /// The events in the body, as JSON.
    var events: [String] { members.events }

    /// `time_ms` in the body, as JSON.
    var time: String { members.time }

    private var members: (time: String, events: [String]) {
        var time = ""
        var events: [String] = []
        try? body.withUnsafeBytes { body in
            try JSONReader.object(body) { key, value in
                if key.equals("time_ms") { time = String(decoding: value.raw, as: UTF8.self) }
                if key.equals("events") {
                    try JSONReader.array(value.raw) { events.append(String(decoding: $0.raw, as: UTF8.self)) }
                }
            }
        }
        return (time, events)
    }
}
