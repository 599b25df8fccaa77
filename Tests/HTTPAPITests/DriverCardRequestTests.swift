import Fleet
import Testing

/// `PUT` and `GET /api/admin/drivers/{driverId}`: ids and bodies.
@Suite struct DriverCardRequestTests {
    private static let path = "/api/admin/drivers/42"
    private static let fields = ["name", "phoneNumber", "vehicleMake", "vehicleModel", "vehicleColor", "licensePlate"]

    @Test func readsEveryField() {
        let body = #"""
            {"name":"D\u00e4n","phoneNumber":"+41 79 1","vehicleMake":"VW","vehicleModel":"ID.3","vehicleColor":"",
            "licensePlate":"ZH 1","id":"7","version":9,"unknown":[]}
            """#
        var changes = DriverCardChanges()
        (changes.name, changes.phoneNumber) = (.set("Dän"), .set("+41 79 1"))
        (changes.vehicleMake, changes.vehicleModel, changes.vehicleColor) = (.set("VW"), .set("ID.3"), .set(""))
        changes.licensePlate = .set("ZH 1")
        #expect(FleetCall(.put, Self.path, body).action == ChangeDriverCard(driverID: "42", changes))
    }

    @Test func whiteSpaceAroundTheNameGoes() {
        var changes = DriverCardChanges()
        changes.name = .set("Dän Öz")
        #expect(FleetCall(.put, Self.path, #"{"name":"\u00a0 Dän Öz\t"}"#).action == ChangeDriverCard(driverID: "42", changes))
    }

    @Test func nullClearsAndAbsentMembersKeep() {
        var changes = DriverCardChanges()
        changes.vehicleColor = .clear
        #expect(
            FleetCall(.put, Self.path, #"{"vehicleColor":null}"#).action == ChangeDriverCard(driverID: "42", changes))
        #expect(FleetCall(.put, Self.path).action == ChangeDriverCard(driverID: "42", DriverCardChanges()))
    }

    @Test(arguments: fields) func rejectsOtherKindsAndLongTexts(field: String) {
        func refusal(_ value: String) -> String? { FleetCall(.put, Self.path, #"{"\#(field)":\#(value)}"#).refusal }
        for value in ["1", "true", "[]", "{}"] {
            #expect(refusal(value) == "400 Expected \"\(field)\" to be a string")
        }
        #expect(refusal(#""\u0000""#) == "400 Expected \"\(field)\" to contain no NUL character")
        let longest = String(repeating: "é", count: 100)
        #expect(refusal("\"\(longest)\"") == nil)
        #expect(refusal("\"\(longest)x\"") == "400 Expected \"\(field)\" to have at most 100 characters")
        // One grapheme of very many scalars counts as many characters.
        let accents = "e" + String(repeating: "\u{301}", count: 100)
        #expect(refusal("\"\(accents)\"") == "400 Expected \"\(field)\" to have at most 100 characters")
    }

    @Test(arguments: fields) func rejectsWhatHidesOrReordersText(field: String) {
        for hidden in [#"a\nb"#, #"a\u202eb"#, #"a\u0007b"#, #"a\u2029b"#, #"a\u200fb"#] {
            #expect(
                FleetCall(.put, Self.path, #"{"\#(field)":"\#(hidden)"}"#).refusal
                    == "400 Expected \"\(field)\" to contain no control or format characters")
        }
        #expect(FleetCall(.put, Self.path, #"{"\#(field)":"\u0646\u200c\u0645"}"#).refusal == nil)
    }

    @Test func readsTheIDAsInChannelNames() {
        #expect(FleetCall(.get, Self.path).storeQuery == .driver("42"))
        #expect(FleetCall(.get, "/api/admin/drivers/Positions").storeQuery == .driver("Positions"))
        let problem = "400 Expected \"driverId\" to be"
        for id in ["a b", "é", String(repeating: "x", count: 151)] {
            #expect(
                FleetCall(.get, "/api/admin/drivers/" + id).refusal?.hasPrefix(problem + " 1 to 150 characters") == true, "\(id)")
            #expect(FleetCall(.put, "/api/admin/drivers/" + id, "{}").refusal?.hasPrefix(problem) == true, "\(id)")
        }
        let reserved = problem + " the id of a driver; positions is reserved"
        let path = "/api/admin/drivers/positions"
        #expect(FleetCall(.put, path, #"{"name":"Dan"}"#).refusal == reserved)
    }

    @Test func acceptsIdempotencyKeyAndIfMatch() throws {
        let call = FleetCall(.put, Self.path, #"{"name":"Dan"}"#).with(.idempotencyKey, "k").with(.ifMatch, "\"3\"")
        let command = try #require(call.command)
        #expect(command.idempotencyKey?.text == "k" && command.expectedVersions == [3])
    }
}
