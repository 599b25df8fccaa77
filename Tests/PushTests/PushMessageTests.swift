import Fleet
import Push
import Testing

@Suite struct PushMessageTests {
    @Test func scalarsBecomeStrings() throws {
        let data =
            #"{"text":"a\"b\n\u00e9","number":49.90,"big":1e400,"yes":true,"no":false,"empty":"","gone":null,"list":[1],"object":{"a":1}}"#
        let message = try PushFixture.message(PushFixture.job("job-assigned", data))
        #expect(
            message.eventFields.map { "\($0.name)=\($0.value)" } == [
                "text=a\"b\n\u{e9}", "number=49.90", "big=1e400", "yes=true", "no=false", "empty=",
            ])
        #expect(message.eventFields.allSatisfy { !$0.isRequired })
    }

    /// Only the first 256 fields of an event's data are read: a push has no room for so many fields of usual length.
    @Test func readsALimitedNumberOfFields() throws {
        let data = "{" + (0..<300).map { "\"\($0)\":\($0)" }.joined(separator: ",") + "}"
        let message = try PushFixture.message(PushFixture.job("job-assigned", data))
        #expect(message.eventFields.map(\.name) == (0..<256).map(String.init))
    }

    @Test func fieldsOfThePushReplaceEventFieldsOfTheSameName() throws {
        let data = #"""
            {"type":"x","event":"x","notificationId":"x","entityId":"x","jobId":"x","title":"x","message":"Hi","t\u0079pe":"y","a":"1","a":"2"}
            """#
        let message = try PushFixture.message(PushFixture.job("job-cancelled", data, .job("B-1")))
        #expect(
            message.data.map { "\($0.name)=\($0.value)" } == [
                "type=job_update", "event=job-cancelled", "notificationId=N-1", "entityId=B-1", "jobId=B-1",
                "title=Job cancelled", "message=A job: the booking was cancelled", "a=1",
            ])
    }

    @Test(arguments: [
        "aps", "APS", "from", "From", "message_type", "MESSAGE_TYPE", "google", "google.c.a", "GoogleX", "gcm", "gcm.n", "GCM",
        "",
    ])
    func reservedNamesAreDropped(_ name: String) throws {
        let message = try PushFixture.message(PushFixture.job("job-assigned", #"{"\#(name)":"x","left":"y"}"#))
        #expect(message.eventFields == [PushMessage.Field("left", "y")])
    }

    @Test(arguments: [
        "apsx", "ap", "fromage", "fro", "message_typ", "message\u{7f}type", "messages", "goggle", "gc", "g", "collapse_key",
    ])
    func similarNamesAreKept(_ name: String) throws {
        let message = try PushFixture.message(PushFixture.job("job-assigned", #"{"\#(name)":"x"}"#))
        #expect(message.eventFields == [PushMessage.Field(name, "x")])
    }

    /// A job's own entity takes precedence over an entity in the data. `id`: the value of `entityId`; nil: there is no
    /// entity. `field`: the further data field that has the id; nil: none.
    @Test(arguments: [
        (PushIntent.Entity.job("J"), #"{"routeId":"R"}"#, "J", "jobId"), (.route("R"), #"{"bookingId":"B"}"#, "R", "routeId"),
        (nil, #"{"reference":"X","routeId":"R","jobId":"J","bookingId":"B"}"#, "B", "jobId"),
        (nil, #"{"routeId":"R","jobId":7}"#, "7", "jobId"), (nil, #"{"orderId":"O","routeId":"R"}"#, "R", "routeId"),
        (nil, #"{"orderId":"O","entityId":"E"}"#, "E", nil), (nil, #"{"batchId":"B","orderId":"O"}"#, "O", nil),
        (nil, #"{"reference":"X","batchId":"B"}"#, "B", nil), (nil, #"{"reference":"X"}"#, "X", nil),
        (nil, #"{"bookingId":null,"jobId":"","routeId":{},"reference":"X"}"#, "X", nil), (nil, #"{"other":"X"}"#, nil, nil),
    ])
    func leadingFieldsNameTheEntity(_ entity: PushIntent.Entity?, _ data: String, _ id: String?, _ field: String?) throws {
        let message = try PushFixture.message(PushFixture.job("new-batch-available", data, entity))
        let expected = [id.map { "entityId=\($0)" }, field.flatMap { field in id.map { "\(field)=\($0)" } }].compactMap { $0 }
        #expect(message.leadingFields.dropFirst(3).map { "\($0.name)=\($0.value)" } == expected)
        #expect(message.leadingFields.allSatisfy { $0.isRequired })
        #expect(Set(message.data.map(\.name)).count == message.data.count)
    }

    @Test func driverArrivalRequiresItsFields() throws {
        let data = #"{"reference":"R","driver_id":42,"driverName":"Dan","timestamp":"2026-11-21T09:30:00Z"}"#
        let message = try PushFixture.message(PushFixture.job("driver-arrival", data))
        #expect(message.eventFields.filter(\.isRequired).map(\.name) == ["reference", "driver_id", "timestamp"])
        #expect(message["driver_id"] == "42")
        let other = try PushFixture.message(PushFixture.job("job-assigned", data))
        #expect(other.eventFields.filter(\.isRequired).isEmpty)
    }

    /// Null, objects, arrays and absent fields count as missing; no text contains "null".
    @Test(arguments: ["{}", #"{"x":null}"#, #"{"x":{"y":1}}"#, #"{"x":[]}"#, #"{"x":""}"#, "[]", "no JSON", #"{"x":"torn"#])
    func missingFieldsUseTheTemplatesDefaults(_ data: String) throws {
        let catalogue = PushFixture.makeCatalogue(PushFixture.entry("e", title: "T {x}", body: "B {x|none}"))
        let message = try PushFixture.message(PushFixture.job("e", data), catalogue: catalogue)
        #expect(message.title == "T ")
        #expect(message.body == "B none")
        #expect(!message.data.contains { $0.value == "null" })
    }

    @Test func templatesInsertFieldsAsWritten() throws {
        let catalogue = PushFixture.makeCatalogue(PushFixture.entry("e", title: "{type} {flag}", body: "£{total} {message}"))
        let job = PushFixture.job("e", #"{"total":10.50,"flag":false,"type":"T","message":"{total}"}"#)
        let message = try PushFixture.message(job, catalogue: catalogue)
        #expect(message.title == "T false")
        #expect(message.body == "£10.50 {total}")
        #expect(message["message"] == "£10.50 {total}")
    }

    @Test(arguments: [
        ("job-assigned", "{x}", "{x}", "", "Job assigned"), ("NEW_ZONE", " {x}", "\n", "", "NEW ZONE"),
        ("e", "", "{x| }", "", "E"), ("--", "", "", "", "Notification"), ("e", "T", " ", "T", ""), ("e", " ", "B", "", "B"),
    ])
    func neverRendersABlankNotification(_ event: String, _ title: String, _ body: String, _ seenTitle: String, _ seenBody: String)
        throws
    {
        let entry = try PushFixture.entry(event, title: Template(parsing: title), body: Template(parsing: body))
        let message = try PushFixture.message(PushFixture.job(event), catalogue: PushFixture.makeCatalogue(entry))
        #expect(message.title == seenTitle)
        #expect(message.body == seenBody)
        #expect(message["title"] == seenTitle)
        #expect(message["message"] == seenBody)
    }

    @Test(arguments: [
        ("order:A-1", "order:A-1"), ("N-1", "N-1"),
        ("order:" + String(repeating: "x", count: 58), "order:" + String(repeating: "x", count: 58)),
        // The hash is the first half of the key's SHA-256, here computed with the tool sha256sum.
        ("order:" + String(repeating: "x", count: 59), "sha256:66d595ef79cd0d9c697cb0071c7bf14f"),
        ("route:\u{e9}", "sha256:9ff9b22c0f3a453f8237854235d48582"), ("a b", "sha256:c8687a08aa5d6ed2044328fa6a697ab8"),
    ])
    func collapseIDIsTheKeyOrItsHash(_ key: String, _ id: String) throws {
        let message = try PushFixture.message(PushFixture.job("job-assigned", collapseKey: key))
        #expect(message.collapseID == id)
        #expect(message.collapseID.utf8.count <= 64)
    }

    /// FCM allows four collapse keys per device at a time. So there are only four, whatever types the catalogue has.
    /// `name`: the FCM collapse key; nil for a notification that supersedes no other.
    @Test(arguments: [
        ("job-assigned", "order:A", "new_job"), ("job-cancelled", "order:A", "job_update"),
        ("driver-arrival", "order:A", "job_update"), ("order-cancelled", "order:A", "job_update"),
        ("route-assigned", "route:R", "new_route"), ("route-cancelled", "route:R", "route_update"),
        ("job-assigned", "N-1", nil), ("drop-removed", "N-1", nil), ("job-assigned", "border:A", nil),
    ])
    func collapseKeyNamesTheKindOfUpdate(_ event: String, _ key: String, _ name: String?) throws {
        #expect(try PushFixture.message(PushFixture.job(event, collapseKey: key)).collapseKey?.rawValue == name)
        #expect(PushMessage.CollapseKey.allCases.count == 4)
    }

    @Test func usesTheEntrysOtherSettings() throws {
        let entry = PushFixture.entry("e", body: "B") {
            ($0.sound, $0.category, $0.thread, $0.channelID) = ("s.caf", "C", "t", "ch")
            $0.priority = .normal
        }
        let message = try PushFixture.message(PushFixture.job("e"), catalogue: PushFixture.makeCatalogue(entry))
        #expect([message.sound, message.category, message.thread, message.channelID] == ["s.caf", "C", "t", "ch"])
        #expect(!message.isHighPriority)
        #expect(message.badge == 3)
        #expect(message.expiresAt == PushFixture.now + 3_600_000)
    }
}
