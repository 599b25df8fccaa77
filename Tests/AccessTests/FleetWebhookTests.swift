import Access
import PusherProtocol
import Testing

/// The JSON of Fleetwire's own webhook events, and their kinds.
@Suite struct FleetWebhookTests {
    private static let events: [(event: WebhookEvent, kind: WebhookKinds, json: String)] = [
        (
            .notificationFailed(notificationID: "01J", userID: "driver:42", provider: "apns", reason: "TopicDisallowed"),
            .notificationFailed,
            #"{"name":"notification_failed","notificationId":"01J","userId":"driver:42","provider":"apns","#
                + #""reason":"TopicDisallowed"}"#
        ),
        (
            .deviceRemoved(userID: "driver:42", provider: "fcm", token: "a1b2…9f0e", reason: "UNREGISTERED"), .deviceRemoved,
            #"{"name":"device_removed","userId":"driver:42","provider":"fcm","token":"a1b2…9f0e","reason":"UNREGISTERED"}"#
        ),
    ]

    @Test func encodesEachEvent() {
        for (event, kind, json) in Self.events {
            #expect(String(decoding: event.json, as: UTF8.self) == json)
            #expect(event.kind == kind)
        }
    }

    /// The configuration uses the same names as the webhooks.
    @Test func namesOfKindsAreUnique() {
        let names = (WebhookKinds.names + WebhookKinds.namesOfFleet)
        #expect(names.count == 9 && Set(names.map(\.name)).count == 9 && Set(names.map(\.kind.rawValue)).count == 9)
        for (_, kind, json) in Self.events {
            #expect(names.contains { $0.kind == kind && json.hasPrefix(#"{"name":"\#($0.name)","#) })
        }
        #expect(WebhookKinds(named: ["device_removed"], among: names) == .deviceRemoved)
        #expect(WebhookKinds(named: ["device_removed"]) == [])
        #expect(WebhookKinds.all.isSuperset(of: [.notificationFailed, .deviceRemoved]))
    }
}
