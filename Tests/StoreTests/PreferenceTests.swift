import Access
import TestSupport
import Testing

@testable import Fleet

@Suite struct PreferenceTests {
    private let store = TemporaryStore()

    /// The response to a query of a person's preferences.
    private func stored(_ person: Identity) throws -> String {
        try store.response(to: .preferences(person)).get()
    }

    /// A command that changes preferences.
    private func changes(_ change: (inout PreferenceChanges) -> Void) -> any Command {
        var changes = PreferenceChanges()
        change(&changes)
        return UpdatePreferences(changes)
    }

    @Test func mergesChangesAndReturnsTheResult() throws {
        let executor = try store.pushing()
        let me = driver("42")
        let defaults = #"{"enabled":false,"from":"22:00","to":"07:00","timeZone":"Europe/London"}"#
        #expect(try stored(me) == #"{"success":true,"data":{"types":{},"quietHours":\#(defaults)}}"#)
        var reply = try executor.commit(command(changes { $0.types = ["new_job": false, "a\"b": true] }, by: me))
        #expect(
            reply.text
                == #"{"success":true,"data":{"types":{"a\"b":true,"new_job":false},"quietHours":\#(defaults)}}"#)
        reply = try executor.commit(
            command(
                changes {
                    $0.types = ["new_job": true]
                    $0.isEnabled = true
                    $0.from = 61
                    $0.timeZone = "Asia/Tokyo"
                }, by: me))
        #expect(
            reply.text == #"{"success":true,"data":{"types":{"a\"b":true,"new_job":true},"quietHours":"#
                + #"{"enabled":true,"from":"01:01","to":"07:00","timeZone":"Asia/Tokyo"}}}"#)
        #expect(try stored(me) == reply.text)
        #expect(try stored(customer("42")).contains(#""types":{}"#))
    }

    @Test func rejectsTooManyTypes() throws {
        let executor = try store.pushing()
        let many = Dictionary(uniqueKeysWithValues: (0...PreferenceChanges.typesMax).map { ("t\($0)", true) })
        #expect(try executor.commit(command(changes { $0.types = many }, by: driver("42"))).status == 400)
        #expect(try executor.count("preferences") == 0)
    }

    @Test func eachJobContainsThePreferencesOfItsRecipient() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        _ = try executor.commit(command(changes { $0.types = ["HELLO": false] }, by: driver("42")))
        _ = try executor.commit(announce(to: "42"))
        #expect(try executor.claim().map { $0.preferences.types } == [["HELLO": false]])
    }

    @Test(arguments: [
        "", "[]", #"{"types":[]}"#, #"{"types":{"a":1}}"#, #"{"quietHours":{"from":"25:00"}}"#,
        #"{"quietHours":{"enabled":"yes"}}"#, #"{"quietHours":{"colour":1}}"#, "{",
    ]) func defaultsReplaceUnreadablePreferences(json: String) throws {
        let executor = try store.pushing()
        for id in ["42", "43"] {
            _ = try executor.commit(register(fcm(id), by: driver(id)))
            _ = try executor.commit(command(changes { $0.types = ["HELLO": false] }, by: driver(id)))
        }
        try executor.database.run("UPDATE preferences SET json = '\(json)'")
        _ = try executor.commit(announce(to: "42", "43"))
        #expect(try executor.claim().map(\.preferences) == [Preferences(), Preferences()])
        #expect(
            executor.outbox.drainUnreadableRows() == ["preferences of driver:42"] && executor.outbox.drainUnreadableRows() == [])
        #expect(try stored(driver("42")).contains(#""types":{}"#))
        #expect(try executor.commit(command(changes { $0.isEnabled = true }, by: driver("42"))).text.contains(#""enabled":true"#))
        #expect(try stored(driver("42")).contains(#""enabled":true"#))
    }

    @Test(arguments: 1...50) func parsesTheJSONThatItWrites(seed: UInt64) {
        var dice = SplitMix(seed: seed)
        var preferences = Preferences()
        for _ in 0..<Int.random(in: 0...5, using: &dice) {
            let scalars = (0..<3).map { _ in Unicode.Scalar(UInt8.random(in: 1...127, using: &dice)) }
            preferences.types[String(String.UnicodeScalarView(scalars))] = Bool.random(using: &dice)
        }
        preferences.quietHours.isEnabled = .random(using: &dice)
        preferences.quietHours.from = .random(in: 0..<1440, using: &dice)
        preferences.quietHours.to = .random(in: 0..<1440, using: &dice)
        preferences.quietHours.timeZone = "Zone/\(seed)"
        #expect(Preferences(json: preferences.json) == preferences)
    }
}
