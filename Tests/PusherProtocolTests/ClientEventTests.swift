import PusherProtocol
import Testing

/// The checks of a client event before the hub gets it (protocol section E).
@Suite struct ClientEventTests {
    /// The channel of a client event that passes all checks. Throws the error of the first check that fails. A name may
    /// have 30 characters, and the data 10 bytes.
    private func target(
        _ name: String = "client-e", on channel: String = "private-a", data: String = "null", isEnabled: Bool = true
    ) throws(ProtocolError) -> String {
        var limits = Limits()
        limits.nameLength = 30
        limits.eventBytes = 10
        let event = ClientEvent(name: name, channel: channel, data: Array(data.utf8))
        return try event.target(isEnabled: isEnabled, limits: limits).text
    }

    @Test(arguments: ["private-a", "presence-a", "private-cache-a", "presence-cache-a", "private-"])
    func e1AcceptsPrivateAndPresenceChannels(channel: String) throws {
        #expect(try target(on: channel) == channel)
    }

    @Test(arguments: ["a", "cache-a", "my-private-a", "Private-a", "#server-to-user-1"])
    func e5RejectsOtherChannels(channel: String) {
        #expect(throws: ProtocolError("Client events are only supported on private and presence channels")) {
            try target(on: channel)
        }
    }

    @Test(arguments: ["private-encrypted-a", "private-encrypted-cache-a"])
    func e5RejectsEncryptedChannels(channel: String) {
        #expect(throws: ProtocolError("Client events are not supported on encrypted channels")) { try target(on: channel) }
    }

    @Test(arguments: ["", "private a", "#private-a", "private-é", "private-aaaaaaaaaaaaaaaaaaaaaaa"])
    func e1RejectsInvalidChannelNames(channel: String) {
        #expect(throws: ProtocolError("Invalid channel name \(channel)")) { try target(on: channel) }
    }

    @Test func e8LimitsTheName() throws {
        let name = "client-" + String(repeating: "é", count: 23)
        #expect(try target(name) == "private-a")
        #expect(throws: ProtocolError("The name of this event exceeds the allowed maximum (30 characters)")) {
            try target(name + "e")
        }
        #expect(throws: ProtocolError.self) { try target(name + "\u{301}") }
    }

    static let sizes: [(data: String, fits: Bool)] = [
        (#""""#, true), (#""0123456789""#, true), (#""0123456789a""#, false), ("null", true),
        (#""ééééé""#, true), (#""éééééa""#, false), (#""\u00e9\u00e9\u00e9\u00e9\u00e9""#, true),
        (#""\n\n\n\n\n\n\n\n\n\n""#, true), (#""\n\n\n\n\n\n\n\n\n\n\n""#, false), (#""\"\"\"\"\"\"\"\"\"\"""#, true),
    ]

    /// The limit counts decoded bytes, not the escaped form.
    @Test(arguments: sizes) func e8LimitsTheData(data: String, fits: Bool) {
        let error = ProtocolError("The data content of this event exceeds the allowed maximum (10 bytes)")
        if fits {
            #expect(throws: Never.self) { try target(data: data) }
        } else {
            #expect(throws: error) { try target(data: data) }
        }
    }

    @Test func e8LimitsObjectsByTheirJSON() throws {
        for (json, fits) in [(#"{"a":1234}"#, true), (#"{"a":12345}"#, false)] {
            let text = Array(#"{"event":"client-e","channel":"private-a","data":\#(json)}"#.utf8)
            guard case .clientEvent(let event) = try text.withUnsafeBytes({ try ClientMessage($0) }) else { return }
            var limits = Limits()
            limits.eventBytes = 10
            #expect(((try? event.target(isEnabled: true, limits: limits)) != nil) == fits)
        }
    }

    @Test func e10DisabledClientEventsAreReportedFirst() {
        let error = ProtocolError("To send client events, you must enable this feature in the application's configuration")
        for channel in ["private-a", "a", ""] { #expect(throws: error) { try target(on: channel, isEnabled: false) } }
    }
}
