import HTTPClient
import Push
import Testing

@Suite struct ProviderRequestTests {
    @Test func apnsRequestHasURLAndHeaders() throws {
        let message = try PushFixture.message(PushFixture.job("job-assigned", "{}", .job("B-1"), collapseKey: "order:A"))
        let request = PushFixture.apns.request(message, to: PushFixture.iPhone, authorization: "bearer token")
        #expect(request.method == .post)
        #expect(request.url == "https://api.push.apple.com:443/3/device/" + String(repeating: "a1", count: 32))
        #expect(
            request.headers.map { "\($0.name): \($0.value)" } == [
                "authorization: bearer token", "content-type: application/json", "apns-topic: uk.example.driver",
                "apns-push-type: alert", "apns-id: bc6d73c9-ef49-fc8e-9011-95da74b18448", "apns-priority: 10",
                "apns-expiration: 1795257000", "apns-collapse-id: order:A",
            ])
    }

    @Test func apnsURLBracketsIPv6Hosts() throws {
        let message = try PushFixture.message(PushFixture.job("job-assigned"))
        for (host, written) in [("::1", "[::1]"), ("127.0.0.1", "127.0.0.1")] {
            let request = APNsAddress(host: host, port: 2197, topic: "t").request(
                message, to: PushFixture.iPhone, authorization: "")
            #expect(request.url.hasPrefix("https://\(written):2197/3/device/"))
        }
    }

    /// The id is the same for each attempt, and different for another device or notification.
    @Test func apnsIDIsStablePerNotificationAndDevice() throws {
        var message = try PushFixture.message(PushFixture.job("job-assigned"))
        let first = APNsAddress.id(of: message, to: PushFixture.iPhone)
        message.badge += 1
        #expect(APNsAddress.id(of: message, to: PushFixture.iPhone) == first)
        #expect(APNsAddress.id(of: message, to: PushFixture.android) != first)
        message.notificationID = "N-2"
        #expect(APNsAddress.id(of: message, to: PushFixture.iPhone) != first)
    }

    @Test func fcmRequestHasURLAndHeaders() throws {
        let message = try PushFixture.message(PushFixture.job("job-assigned"))
        let request = PushFixture.fcm.request(
            message, to: PushFixture.android, at: PushFixture.now, authorization: "Bearer token")
        #expect(request.method == .post)
        #expect(request.url == "https://fcm.googleapis.com/v1/projects/fleet-1/messages:send")
        #expect(
            request.headers.map { "\($0.name): \($0.value)" } == [
                "authorization: Bearer token", "content-type: application/json",
            ])
    }

    /// The TTL is what is left of the notification's lifetime of an hour, `after` milliseconds after its creation: in
    /// whole seconds, between 0 and FCM's maximum.
    @Test(
        arguments: [
            (0, "3600s"), (1, "3599s"), (3_599_000, "1s"), (3_599_001, "0s"), (3_600_001, "0s"), (-2_415_600_000, "2419200s"),
            (-2_415_601_000, "2419200s"),
        ] as [(Int64, String)])
    func fcmTTLIsLimited(_ after: Int64, _ ttl: String) throws {
        let message = try PushFixture.message(PushFixture.job("job-assigned"))
        #expect(try sent(message, at: PushFixture.now + after).object("message.android")["ttl"] == ttl)
    }

    @Test func leavesOutEmptyMembers() throws {
        let entry = PushFixture.entry("e", body: "B") {
            $0.priority = .normal
            $0.sound = ""
            $0.channelID = "jobs"
        }
        let message = try PushFixture.message(PushFixture.job("e"), catalogue: PushFixture.makeCatalogue(entry))
        let object = try sent(message).object("message")
        #expect(try object.object("android")["priority"] == "NORMAL")
        #expect(try object.object("android").names == ["priority", "ttl", "notification"])
        #expect(try object.object("android.notification").names == ["tag", "channel_id", "notification_count"])
        #expect(try object.object("notification").names == ["body"])
        #expect(try object.object("apns.headers")["apns-priority"] == "5")
        #expect(try object.object("apns.payload.aps").names == ["alert", "badge"])
        let request = PushFixture.apns.request(message, to: PushFixture.iPhone, authorization: "")
        #expect(request.headers.contains { $0 == ("apns-priority", "5") })
        #expect(try ReadObject(request.body).object("aps.alert").names == ["body"])
        #expect(try ReadObject(request.body)["title"]?.isEmpty == true)
    }

    @Test func escapesTexts() throws {
        let hostile = "\"},\\\u{0}\u{1f}\n\u{2028}\u{7f}</script>👩‍👩‍👧"
        var message = try PushFixture.message(PushFixture.job("job-assigned"))
        (message.title, message.body, message.sound, message.category, message.thread, message.channelID) =
            (hostile, hostile, hostile, hostile, hostile, hostile)
        message.eventFields = [PushMessage.Field(hostile, hostile)]
        let apns = try ReadObject(PushFixture.apns.request(message, to: PushFixture.iPhone, authorization: "").body)
        #expect(apns[hostile] == hostile)
        #expect(try apns.object("aps.alert")["body"] == hostile)
        #expect(try apns.object("aps")["thread-id"] == hostile)
        let fcm = try sent(message).object("message")
        #expect(try fcm.object("data")[hostile] == hostile)
        #expect(try fcm.object("android.notification")["channel_id"] == hostile)
        #expect(try fcm.object("notification")["title"] == hostile)
    }

    private func sent(_ message: PushMessage, at now: Int64 = PushFixture.now) throws -> ReadObject {
        try ReadObject(PushFixture.fcm.request(message, to: PushFixture.android, at: now, authorization: "").body)
    }
}
