import Testing

@testable import Configuration

@Suite struct StoreSettingsTests {
    /// Reads a text as `/etc/fleet/c.yaml`.
    private func elsewhere(_ yaml: String, _ environment: [String: String] = [:]) throws -> Settings {
        try Settings.parse(yaml, file: "/etc/fleet/c.yaml", environment: environment)
    }

    @Test("The database stands where it says, beside the configuration if that is relative")
    func path() throws {
        #expect(try elsewhere("").store.path == "/etc/fleet/var/fleetwire.db")
        #expect(try elsewhere("store: {path: f.db}").store.path == "/etc/fleet/f.db")
        #expect(try elsewhere("store: {path: /f.db}").store.path == "/f.db")
        #expect(try elsewhere("", ["FLEETWIRE_STORE_PATH": "../f.db"]).store.path == "/etc/fleet/../f.db")
        #expect(try elsewhere("store: {path: \"${DIR}/f.db\"}", ["DIR": "/srv"]).store.path == "/srv/f.db")
    }

    @Test("Every durability is accepted", arguments: Settings.Store.Durability.allCases)
    func durability(durability: Settings.Store.Durability) throws {
        #expect(try read("store: {durability: \(durability.rawValue)}").get().store.durability == durability)
    }

    @Test(
        "A mistake is reported with its place",
        arguments: [
            ("{path: ''}", "path: expected a file's path, found \"\""),
            ("{path: ~}", "path: expected a file's path, found nothing"),
            ("{path: [a]}", "path: expected a file's path, found a list"),
            ("{durability: off}", "durability: expected full or normal, found \"off\""),
            ("{retention_days: 0}", "retention_days: expected an integer from 1 to 3650, found \"0\""),
            ("{retention: 3}", "retention: unknown key; did you mean store.retention_days?"),
            ("{paths: a}", "paths: unknown key; did you mean store.path?"),
        ])
    func mistake(yaml: String, line: String) {
        #expect(problems("store: \(yaml)") == ["c.yaml:1: store.\(line)"])
    }
}
