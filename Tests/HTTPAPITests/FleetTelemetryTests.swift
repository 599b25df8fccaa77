import Fleet
import PusherAPI
import Testing

/// Telemetry, by which an app reports what a driver did with a notification, and read marks.
@Suite struct FleetTelemetryTests {
    /// A valid event, changed: each member in `changes` is set to this JSON, or removed if nil.
    static func event(_ changes: [String: String?] = [:]) -> String {
        var members = [
            "notificationId": #""N1""#, "type": #""new_job""#, "entityId": #""A1""#, "event": #""received""#,
            "timestamp": #""2026-11-21T09:30:00Z""#,
        ]
        for (name, value) in changes { members[name] = value }
        return "{" + members.sorted { $0.key < $1.key }.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }

    private static let plain = TelemetryEvent(
        notificationID: "N1", type: "new_job", entityID: "A1", kind: .received, timestamp: "2026-11-21T09:30:00Z")

    private func log(_ body: String) -> FleetCall { FleetCall(.post, "/api/driver/notifications/log", body, as: .driver) }

    private func events(_ body: String) -> [TelemetryEvent]? {
        if case .telemetry(let events) = log(body).action { events } else { nil }
    }

    @Test func readsASingleEvent() { #expect(events(Self.event()) == [Self.plain]) }

    @Test func limitsEventsToOneHundred() {
        for count in [1, 2, 100] {
            let body = #"{"events":[\#((0..<count).map { _ in Self.event() }.joined(separator: ","))]}"#
            #expect(events(body) == (0..<count).map { _ in Self.plain })
        }
        for count in [0, 101, 1_000] {
            let body = #"{"events":[\#((0..<count).map { _ in Self.event() }.joined(separator: ","))]}"#
            #expect(log(body).refusal == "400 Expected \"events\" to contain 1 to 100 elements; found \(count)")
        }
    }

    @Test func oneInvalidEventRejectsTheRequest() {
        let body = #"{"events":[\#(Self.event()),\#(Self.event(["type": "1"])),\#(Self.event(["event": "1"]))]}"#
        #expect(log(body).refusal == "400 events[1]: Expected \"type\" to be a string")
        #expect(log(#"{"events":[\#(Self.event()),1]}"#).refusal == "400 Expected \"events[1]\" to be an object")
        for value in ["{}", "1", #""x""#, "true"] {
            #expect(log(#"{"events":\#(value)}"#).refusal == "400 Expected \"events\" to be an array")
        }
    }

    @Test func readsASingleEventIfEventsIsNull() {
        #expect(events(Self.event(["events": "null"])) == [Self.plain])
        #expect(log("").refusal == "400 Expected \"notificationId\": a string is required")
    }

    /// A member, its JSON (nil: the member is absent), and the error.
    static let bad: [(String, String?, String)] =
        ["notificationId", "type", "entityId", "event"].flatMap { field in
            [
                (field, nil, "\"\(field)\": a string is required"), (field, "null", "\"\(field)\": a string is required"),
                (field, "1", "\"\(field)\" to be a string"), (field, "[]", "\"\(field)\" to be a string"),
            ]
        } + [
            ("timestamp", nil, "\"timestamp\": a time in ISO 8601 is required"),
            ("timestamp", "null", "\"timestamp\": a time in ISO 8601 is required"),
            ("timestamp", "1700000000", "\"timestamp\" to be a string"),
            ("timestamp", #""now""#, "\"timestamp\" to be a time in ISO 8601, such as 2026-11-21T09:30:00Z"),
            ("metadata", "1", "\"metadata\" to be an object"), ("metadata", "[]", "\"metadata\" to be an object"),
            ("metadata", #""x""#, "\"metadata\" to be an object"), ("metadata", #"{"title":1}"#, "\"title\" to be a string"),
            ("metadata", #"{"title":"t","message":[]}"#, "\"message\" to be a string"),
            (
                "type", #""NEW_JOB""#,
                "\"type\" to be one of new_job, job_update, new_route, route_update, or a type of the notification catalogue"
            ),
            ("event", #""opened""#, "\"event\" to be one of received, action_view_now, action_accept, action_dismiss"),
        ]

    @Test(arguments: bad) func errorsNameFieldAndPosition(field: String, value: String?, problem: String) {
        let body = Self.event([field: value])
        #expect(log(body).refusal == "400 Expected " + problem)
        #expect(log(#"{"events":[\#(body)]}"#).refusal == "400 events[0]: Expected " + problem)
    }

    @Test func acceptsEveryIDThatAPhoneKnows() {
        for id in [
            "N1", "order:A-17", "0:1415878705786930%67b09ac6f9fd7ecd", "8B25E5A4-8F3C-4D55-9D23-27F0A0D3B8C1", "{~}",
            String(repeating: "x", count: 256),
        ] {
            #expect(events(Self.event(["notificationId": "\"\(id)\""]))?.map(\.notificationID) == [id])
        }
        for id in ["", "a b", "é", "\u{212A}", "\\u007f", "\\n", String(repeating: "x", count: 257)] {
            #expect(
                log(Self.event(["notificationId": "\"\(id)\""])).refusal
                    == "400 Expected \"notificationId\" to be 1 to 256 printable ASCII characters without spaces")
        }
    }

    @Test func entityIDsMayHaveAnyCharactersExceptControlCharacters() {
        for id in ["a b", "é", "B-1", String(repeating: "é", count: 150)] {
            #expect(events(Self.event(["entityId": "\"\(id)\""]))?.map(\.entityID) == [id])
        }
        for id in ["", "\\n", "\\u009f", String(repeating: "é", count: 151)] {
            #expect(
                log(Self.event(["entityId": "\"\(id)\""])).refusal
                    == "400 Expected \"entityId\" to have 1 to 150 characters, none of them a control character")
        }
    }

    /// A notification such as an approval is about no job.
    @Test func onlyTheTypesOfJobsAndRoutesNeedAnEntity() {
        for entity in [nil, "null", "\"\""] as [String?] {
            let event = Self.event(["type": "\"DRIVER_APPROVED\"", "entityId": entity])
            #expect(events(event)?.map(\.entityID) == [nil])
        }
        for type in ["new_job", "job_update", "new_route", "route_update"] {
            for entity in [nil, "null"] as [String?] {
                let event = Self.event(["type": "\"\(type)\"", "entityId": entity])
                #expect(log(event).refusal == "400 Expected \"entityId\": a string is required")
            }
        }
        #expect(log(Self.event(["type": "\"DRIVER_APPROVED\"", "entityId": "1"])).status() == 400)
    }

    @Test func readsEveryKindAndType() {
        for (word, kind) in [
            ("received", TelemetryEvent.Kind.received), ("action_view_now", .viewed), ("action_accept", .accepted),
            ("action_dismiss", .dismissed),
        ] {
            #expect(events(Self.event(["event": "\"\(word)\""]))?.map(\.kind) == [kind])
        }
        for type in ["new_job", "job_update", "new_route", "route_update", "DRIVER_APPROVED"] {
            #expect(events(Self.event(["type": "\"\(type)\""]))?.map(\.type) == [type])
        }
    }

    /// `metadata` in the request, and in the event; nil: the event has none.
    static let metadata: [(String, String?)] = [
        ("null", nil), ("{}", "{}"), (#"{"title":null,"message":null}"#, "{}"), (#"{"x":1}"#, "{}"),
        (#"{"message":"m","x":[],"title":"t\u0041\n"}"#, #"{"title":"tA\n","message":"m"}"#),
        (#"{ "message" : "" }"#, #"{"message":""}"#),
    ]

    @Test(arguments: metadata) func keepsOnlyTitleAndMessageOfMetadata(sent: String, kept: String?) throws {
        let event = try #require(events(Self.event(["metadata": sent]))?.first)
        #expect(event.metadata.map { String(decoding: $0, as: UTF8.self) } == kept)
    }

    // MARK: Read marks

    private func read(_ body: String) -> FleetCall { FleetCall(.post, "/api/driver/notifications/read", body, as: .driver) }

    @Test func readsIDsOrAll() {
        #expect(read(#"{"ids":["a","b","a"]}"#).action == .markRead(["a", "b", "a"]))
        #expect(read(#"{"ids":["a"],"all":false}"#).action == .markRead(["a"]))
        #expect(read(#"{"all":true,"ids":null}"#).action == .markRead(nil))
        let most = (0..<1_000).map { "n\($0)" }
        #expect(read(#"{"ids":["\#(most.joined(separator: #"",""#))"]}"#).action == .markRead(most))
    }

    static let badMarks = [
        ("", "Expected either \"ids\" or \"all\": true"), ("{}", "Expected either \"ids\" or \"all\": true"),
        (#"{"all":false}"#, "Expected either \"ids\" or \"all\": true"),
        (#"{"all":null}"#, "Expected either \"ids\" or \"all\": true"),
        (#"{"all":true,"ids":["a"]}"#, "Expected either \"ids\" or \"all\": true"),
        (#"{"all":1}"#, "Expected \"all\" to be true or false"),
        (#"{"all":"true"}"#, "Expected \"all\" to be true or false"), (#"{"ids":"a"}"#, "Expected \"ids\" to be an array"),
        (#"{"ids":{}}"#, "Expected \"ids\" to be an array"), (#"{"ids":[1]}"#, "Expected \"ids\" to contain only strings"),
        (#"{"ids":[null]}"#, "Expected \"ids\" to contain only strings"),
        (#"{"ids":[]}"#, "Expected \"ids\" to contain 1 to 1000 elements; found 0"),
        (
            #"{"ids":["a b"]}"#,
            "Expected \"ids\" to be 1 to 150 characters of A-Z a-z 0-9 _ - = @ , . ; (found a b)"
        ),
    ]

    @Test(arguments: badMarks) func rejectsInvalidReadMarks(body: String, problem: String) {
        #expect(read(body).refusal == "400 " + problem)
    }

    @Test func limitsReadMarksToOneThousand() {
        let ids = [String](repeating: #""a""#, count: 1_001).joined(separator: ",")
        #expect(read(#"{"ids":[\#(ids)]}"#).refusal == "400 Expected \"ids\" to contain 1 to 1000 elements; found 1001")
    }
}
