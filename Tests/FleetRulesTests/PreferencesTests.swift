import Fleet
import JSON
import Testing

@Suite struct PreferencesTests {
    private func encode(_ preferences: Preferences) -> String {
        var json = JSONWriter()
        preferences.write(to: &json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test func defaultsAllowEverythingAtAnyTime() {
        #expect(
            encode(Preferences())
                == #"{"types":{},"quietHours":{"enabled":false,"from":"22:00","to":"07:00","timeZone":"Europe/London"}}"#)
        #expect(!Preferences().isOff(["new_job"]))
        #expect((0..<1440).allSatisfy { !Preferences().quietHours.contains(minuteOfDay: $0) })
    }

    @Test func changesAreMerged() throws {
        var preferences = Preferences()
        var changes = PreferenceChanges()
        changes.types = ["new_job": false, "job_update": true]
        changes.from = 21 * 60 + 5
        try changes.apply(to: &preferences)
        changes = PreferenceChanges()
        changes.types = ["new_job": true, "route_update": false]
        changes.isEnabled = true
        changes.timeZone = "Asia/Tokyo"
        changes.to = 0
        try changes.apply(to: &preferences)
        #expect(
            encode(preferences)
                == #"{"types":{"job_update":true,"new_job":true,"route_update":false},"#
                + #""quietHours":{"enabled":true,"from":"21:05","to":"00:00","timeZone":"Asia/Tokyo"}}"#)
        #expect(preferences.isOff(["x", "route_update"]))
        #expect(!preferences.isOff(["new_job", "x"]))
    }

    @Test func limitsTheNumberOfTypes() throws {
        var preferences = Preferences()
        var changes = PreferenceChanges()
        changes.types = Dictionary(uniqueKeysWithValues: (0..<PreferenceChanges.typesMax).map { ("t\($0)", true) })
        try changes.apply(to: &preferences)
        try changes.apply(to: &preferences)
        changes.types = ["one more": true]
        do throws(RuleError) {
            try changes.apply(to: &preferences)
            Issue.record("not rejected")
        } catch {
            #expect(error.text == #"Expected "types" to have at most 100 entries"#)
        }
    }

    /// Arguments: `from`, `to`, minutes of the day that are quiet, and minutes that are not.
    @Test(arguments: [
        (22 * 60, 7 * 60, [22 * 60, 23 * 60 + 59, 0, 419], [420, 12 * 60, 22 * 60 - 1]),
        (60, 120, [60, 119], [59, 120, 0, 1439]),
        (300, 300, [0, 299, 300, 1439], []),
        (0, 1439, [0, 1438], [1439]),
    ])
    func quietHoursMaySpanMidnightOrTheWholeDay(_ from: Int, _ to: Int, _ quiet: [Int], _ notQuiet: [Int]) {
        var hours = Preferences.QuietHours()
        (hours.isEnabled, hours.from, hours.to) = (true, from, to)
        #expect(quiet.allSatisfy { hours.contains(minuteOfDay: $0) })
        #expect(notQuiet.allSatisfy { !hours.contains(minuteOfDay: $0) })
        hours.isEnabled = false
        #expect(quiet.allSatisfy { !hours.contains(minuteOfDay: $0) })
    }

    /// - Parameter minutes: since midnight; nil: the text is rejected.
    @Test(
        arguments: [
            ("00:00", 0), ("23:59", 1439), ("07:05", 425), ("24:00", nil), ("12:60", nil), ("7:05", nil), ("07-05", nil),
            ("07:60", nil), ("0700", nil), ("07:00:00", nil), ("aa:bb", nil),
            ("", nil),
            ("07:05 ", nil), ("+7:05", nil), ("٠٧:٠٥", nil), ("0٧:05", nil), ("07:0\u{301}", nil),
        ] as [(String, Int?)])
    func timesOfDayHaveFourDigits(_ text: String, _ minutes: Int?) {
        #expect(Preferences.minutes(ofClock: text) == minutes)
    }
}
