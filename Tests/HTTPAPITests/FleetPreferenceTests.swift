import Access
import Fleet
import PusherAPI
import Testing

/// `PUT /api/driver/preferences` and `/api/customer/preferences`.
@Suite struct FleetPreferenceTests {
    private static func call(_ body: String, as role: Role = .driver) -> FleetCall {
        FleetCall(.put, "/api/\(role.rawValue)/preferences", body, as: role)
    }

    private static func changes(_ body: String) -> PreferenceChanges? {
        if case .updatePreferences(let changes) = call(body).action { changes } else { nil }
    }

    @Test(arguments: [Role.driver, .customer]) func readsPreferencesOfTheSender(role: Role) {
        var changes = PreferenceChanges()
        changes.types = ["new_job": false, "job-assigned": true, "DRIVER_APPROVED": false]
        changes.isEnabled = true
        changes.from = 22 * 60 + 30
        changes.to = 7 * 60
        changes.timeZone = "Etc/GMT+1"
        let command = Self.call(
            """
            {"types":{"new_job":false,"job-assigned":true,"DRIVER_APPROVED":false},
            "quietHours":{"enabled":true,"from":"22:30","to":"07:00","timeZone":"Etc/GMT+1"}}
            """, as: role
        ).command
        #expect(command?.action == .updatePreferences(changes) && command?.actor == FleetCall.identity(role))
    }

    @Test(arguments: [
        "", "{}", #"{"types":{}}"#, #"{"types":null,"quietHours":null}"#, #"{"quietHours":{}}"#,
        #"{"Types":{"a":false},"quiethours":1,"quietHours":{"Enabled":1,"timezone":2,"days":[1]}}"#,
    ]) func absentMembersChangeNothing(body: String) {
        #expect(Self.changes(body) == PreferenceChanges())
    }

    /// Null removes a type, and restores the default of a quiet-hours member.
    @Test func nullRestoresTheDefaults() {
        var changes = PreferenceChanges()
        changes.types = ["new_job": nil]
        let standard = Preferences.QuietHours()
        changes.isEnabled = standard.isEnabled
        changes.from = standard.from
        changes.to = standard.to
        changes.timeZone = standard.timeZone
        let body = #"{"types":{"new_job":null},"quietHours":{"enabled":null,"from":null,"to":null,"timeZone":null}}"#
        #expect(Self.changes(body) == changes)
    }

    @Test func typesThatAreNeverPushedAreNotStored() {
        let changes = Self.changes(#"{"types":{"unheard_of":false,"new_job":true,"unheard-x":true,"unheard_y":null}}"#)
        #expect(changes?.types == ["new_job": true, "unheard_y": nil])
        #expect(changes?.unknown == ["unheard-x", "unheard_of"])
    }

    @Test func readsSingleMembers() {
        #expect(Self.changes(#"{"quietHours":{"enabled":false}}"#)?.isEnabled == false)
        #expect(Self.changes(#"{"quietHours":{"from":"00:00"}}"#)?.from == 0)
        #expect(Self.changes(#"{"quietHours":{"to":"23:59"}}"#)?.to == 1_439)
        #expect(Self.changes(#"{"quietHours":{"timeZone":"UTC"}}"#)?.timeZone == "UTC")
        let duplicates = #"{"types":{"a":true,"b":true,"a":false}}"#
        #expect(Self.changes(duplicates)?.types == ["a": false, "b": true], "the last value is used")
    }

    // MARK: Errors

    static let wrong: [(body: String, refusal: String)] = [
        (#"{"types":[]}"#, "\"types\" to be an object"), (#"{"types":"a"}"#, "\"types\" to be an object"),
        (#"{"types":{"new_job":1}}"#, "\"types.new_job\" to be true or false"),
        (#"{"types":{"new_job":0}}"#, "\"types.new_job\" to be true or false"),
        (#"{"types":{"new_job":"no"}}"#, "\"types.new_job\" to be true or false"),
        (#"{"types":{"a b":true}}"#, "\"types\" to contain names of 1 to 64 characters of A-Z a-z 0-9 _ -; found a b"),
        (#"{"types":{"a":true,"b":"true"}}"#, "\"types.b\" to be true or false"),
        (#"{"types":{"":true}}"#, "\"types\" to contain names of 1 to 64 characters of A-Z a-z 0-9 _ -; found "),
        (
            #"{"types":{"a.b":1}}"#,
            "\"types\" to contain names of 1 to 64 characters of A-Z a-z 0-9 _ -; found a.b"
        ),
        (#"{"quietHours":true}"#, "\"quietHours\" to be an object"), (#"{"quietHours":[]}"#, "\"quietHours\" to be an object"),
        (#"{"quietHours":{"enabled":"yes"}}"#, "\"quietHours.enabled\" to be true or false"),
        (#"{"quietHours":{"enabled":1}}"#, "\"quietHours.enabled\" to be true or false"),
        (#"{"quietHours":{"from":2200}}"#, "\"quietHours.from\" to be a string"),
        (#"{"quietHours":{"from":[]}}"#, "\"quietHours.from\" to be a string"),
        (#"{"quietHours":{"to":7}}"#, "\"quietHours.to\" to be a string"),
        (#"{"quietHours":{"to":[]}}"#, "\"quietHours.to\" to be a string"),
        (#"{"quietHours":{"to":"24:00"}}"#, "\"quietHours.to\" to be a time of day from 00:00 to 23:59; found 24:00"),
        (#"{"quietHours":{"to":"7:00"}}"#, "\"quietHours.to\" to be a time of day from 00:00 to 23:59; found 7:00"),
        (#"{"quietHours":{"from":"24:00"}}"#, "\"quietHours.from\" to be a time of day from 00:00 to 23:59; found 24:00"),
        (#"{"quietHours":{"timeZone":1}}"#, "\"quietHours.timeZone\" to be a string"),
    ]

    @Test(arguments: wrong) func errorsNameTheField(body: String, refusal: String) {
        #expect(Self.call(body).refusal == "400 Expected \(refusal)")
    }

    @Test func aFixedOffsetReachesTheLookUp() {
        #expect(Self.changes(#"{"quietHours":{"timeZone":"GMT+05:30"}}"#)?.timeZone == "GMT+05:30")
    }

    /// The look-up of time zones in these tests accepts `../UTC`. The request is rejected because the router first
    /// checks which characters the name contains.
    @Test(arguments: [
        "../UTC", "../../etc/passwd", "/etc/localtime", "Europe/Nowhere", "Europe/London\\u0000", "", "europe/london", "é",
        String(repeating: "x", count: 65),
    ])
    func rejectsUnknownTimeZones(name: String) {
        #expect(
            Self.call(#"{"quietHours":{"timeZone":"\#(name)"}}"#).refusal?.hasPrefix("400 Expected \"quietHours.timeZone\" to ")
                == true)
    }

    @Test func limitsTypesToOneHundred() {
        func body(_ count: Int) -> String {
            #"{"types":{\#((0..<count).map { #""t\#($0)":false"# }.joined(separator: ","))}}"#
        }
        #expect(Self.changes(body(100))?.types.count == 100)
        #expect(Self.call(body(101)).refusal == "400 Expected \"types\" to contain at most 100 types; found 101")
        let longest = String(repeating: "x", count: 64)
        #expect(Self.changes(#"{"types":{"\#(longest)":false}}"#)?.types == [longest: false])
        #expect(Self.call(#"{"types":{"\#(longest)x":false}}"#).status() == 400)
    }
}
