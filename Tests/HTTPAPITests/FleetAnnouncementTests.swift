import Fleet
import PusherAPI
import Testing

/// `POST /api/admin/notifications`: type, audience and data.
@Suite struct FleetAnnouncementTests {
    /// A request. The arguments are the JSON of its members; a nil member is left out.
    private func announce(
        type: String? = #""DRIVER_APPROVED""#, to: String? = #"{"all":true}"#, data: String? = nil
    ) -> FleetCall {
        let members = [("type", type), ("to", to), ("data", data)].compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
        return FleetCall(.post, "/api/admin/notifications", "{\(members.joined(separator: ","))}")
    }

    private func announcement(_ call: FleetCall) -> Announcement? {
        if case .announce(let announcement) = call.action { announcement } else { nil }
    }

    static let audiences: [(String, Announcement.Audience)] = [
        (#"{"driver":"42"}"#, .drivers(["42"])), (#"{"drivers":["42"]}"#, .drivers(["42"])),
        (#"{"drivers":["b","a","b"]}"#, .drivers(["b", "a", "b"])), (#"{"customer":"c@d.e"}"#, .customer("c@d.e")),
        (#"{"driver":42}"#, .drivers(["42"])), (#"{"drivers":["a",42]}"#, .drivers(["a", "42"])),
        (#"{"customer":7}"#, .customer("7")),
        (#"{"all":true}"#, .everyDriver), (#"{"all":false,"driver":"1"}"#, .drivers(["1"])),
        (#"{"driver":null,"drivers":null,"customer":"1","all":null,"x":0}"#, .customer("1")),
    ]

    @Test(arguments: audiences) func readsTheAudience(to: String, audience: Announcement.Audience) {
        let expected = Announcement(type: "DRIVER_APPROVED", audience: audience, data: Array("{}".utf8))
        #expect(announcement(announce(to: to)) == expected)
    }

    static let badAudiences = [
        ("{}", "Expected \"to\" to contain exactly one of driver, drivers, customer, all; found 0"),
        (#"{"all":false}"#, "Expected \"to\" to contain exactly one of driver, drivers, customer, all; found 0"),
        (#"{"driver":"1","customer":"2"}"#, "Expected \"to\" to contain exactly one of driver, drivers, customer, all; found 2"),
        (
            #"{"driver":"1","drivers":["1"],"customer":"2","all":true}"#,
            "Expected \"to\" to contain exactly one of driver, drivers, customer, all; found 4"
        ),
        (
            #"{"driver":"d1","all":true}"#,
            "Expected \"to\" to contain exactly one of driver, drivers, customer, all; found 2"
        ),
        (#"{"driver":1.5}"#, "Expected \"driver\" to be a string or a whole number"),
        (#"{"driver":["1"]}"#, "Expected \"driver\" to be a string"),
        (#"{"customer":{}}"#, "Expected \"customer\" to be a string"),
        (#"{"customer":[]}"#, "Expected \"customer\" to be a string"),
        (#"{"all":"true"}"#, "Expected \"all\" to be true or false"),
        (#"{"drivers":"1"}"#, "Expected \"drivers\" to be an array"),
        (#"{"drivers":[true]}"#, "Expected \"drivers\" to contain only strings"),
        (#"{"drivers":[-1]}"#, "Expected \"drivers\" to be a string or a whole number"),
        (#"{"drivers":["d1",{}]}"#, "Expected \"drivers\" to contain only strings"),
        (#"{"drivers":[]}"#, "Expected \"drivers\" to contain 1 to 1000 elements; found 0"),
        (#"{"drivers":["1",""]}"#, "Expected \"drivers\" to be 1 to 150 characters of A-Z a-z 0-9 _ - = @ , . ; (found )"),
        (
            #"{"drivers":["d1","a/b"]}"#,
            "Expected \"drivers\" to be 1 to 150 characters of A-Z a-z 0-9 _ - = @ , . ; (found a/b)"
        ),
        (#"{"driver":""}"#, "Expected \"driver\" to be 1 to 150 characters of A-Z a-z 0-9 _ - = @ , . ; (found )"),
        (#"{"driver":"a b"}"#, "Expected \"driver\" to be 1 to 150 characters of A-Z a-z 0-9 _ - = @ , . ; (found a b)"),
        (#"{"customer":"a/b"}"#, "Expected \"customer\" to be 1 to 150 characters of A-Z a-z 0-9 _ - = @ , . ; (found a/b)"),
    ]

    @Test(arguments: badAudiences) func rejectsInvalidAudiences(to: String, problem: String) {
        #expect(announce(to: to).refusal == "400 " + problem)
    }

    @Test(arguments: [nil, "null"]) func rejectsAnnouncementsWithoutAudience(to: String?) {
        #expect(
            announce(to: to).refusal == "400 Expected \"to\": {driver}, {drivers: […]}, {customer} or {all: true} is required")
    }

    @Test(arguments: ["1", #""all""#, "[]", #"["d1"]"#, "true"]) func rejectsAudiencesThatAreNotObjects(to: String) {
        #expect(announce(to: to).refusal == "400 Expected \"to\" to be an object")
    }

    @Test func limitsDriversToOneThousand() {
        let most = (0..<1_000).map { "d\($0)" }
        #expect(announcement(announce(to: #"{"drivers":["\#(most.joined(separator: #"",""#))"]}"#))?.audience == .drivers(most))
        let more = [String](repeating: #""d""#, count: 1_001).joined(separator: ",")
        #expect(
            announce(to: #"{"drivers":[\#(more)]}"#).refusal
                == "400 Expected \"drivers\" to contain 1 to 1000 elements; found 1001")
    }

    static let badTypes: [(String?, String)] = [
        (nil, "Expected \"type\": a string is required"), ("null", "Expected \"type\": a string is required"),
        ("1", "Expected \"type\" to be a string"), ("{}", "Expected \"type\" to be a string"),
        (#""driver_approved""#, "Unknown \"type\" driver_approved: not in the notification catalogue"),
        (#""""#, "Unknown \"type\" : not in the notification catalogue"),
        (#""UNKNOWN_TYPE""#, "Unknown \"type\" UNKNOWN_TYPE: not in the notification catalogue"),
        (#""new-batch-available ""#, "Unknown \"type\" new-batch-available : not in the notification catalogue"),
        (#""new_job""#, "Unknown \"type\" new_job: not in the notification catalogue"),
    ]

    @Test(arguments: badTypes) func rejectsMissingAndUnknownTypes(type: String?, problem: String) {
        #expect(announce(type: type).refusal == "400 " + problem)
    }

    @Test(arguments: ["{}", #"{ "b":1.50, "a":"\u0041", "a":[null] }"#]) func copiesDataUnchanged(data: String) {
        #expect(announcement(announce(data: data))?.data == Array(data.utf8))
    }

    @Test func rejectsDataWithNumbersThatNoDoubleHolds() {
        let problem = "Expected \"data\" to contain only numbers that fit into a double; found "
        #expect(announce(data: #"{"a":[{"b":1e999}]}"#).refusal == "400 " + problem + "1e999")
        #expect(announcement(announce(data: #"{"a":"1e999","b":1e308}"#)) != nil)
    }

    @Test func dataIsAnObjectAndEmptyByDefault() {
        #expect(announcement(announce())?.data == Array("{}".utf8))
        #expect(announcement(announce(data: "null"))?.data == Array("{}".utf8))
        for data in ["1", "[]", #""x""#, #""{}""#] {
            #expect(announce(data: data).refusal == "400 Expected \"data\" to be an object")
        }
    }
}
