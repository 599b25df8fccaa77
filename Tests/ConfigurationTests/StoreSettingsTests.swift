import Testing

@testable import Configuration

@Suite struct StoreSettingsTests {
    /// Reads YAML as the file `/etc/fleet/c.yaml`.
    private func elsewhere(_ yaml: String, _ environment: [String: String] = [:]) throws -> Settings {
        try Settings.parse(yaml, file: "/etc/fleet/c.yaml", environment: environment)
    }

    @Test("The database's path is absolute or relative to the configuration file")
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

    static let key = CommittedFileTests.storeKey

    private func keys(_ list: String, _ environment: [String: String] = [:]) throws -> [Settings.Store.EncryptionKey] {
        try read("store: {encryption_keys: \(list)}", environment, files: ["k": Self.key + "\n"]).get().store.encryptionKeys
    }

    @Test("Encryption keys keep the order of their list")
    func encryptionKeys() throws {
        #expect(Settings().store.encryptionKeys == [])
        #expect(try keys("[]") == [])
        #expect(
            try keys("[{id: b_2, key: \(Self.key)}, {id: a-1, key: '${K}'}, {id: 3, key: 'file:k'}]", ["K": Self.key])
                == ["b_2", "a-1", "3"].map { Settings.Store.EncryptionKey(id: $0, key: Self.key) })
    }

    @Test(
        "An error about an encryption key names its location and does not show the key",
        arguments: [
            ("~", ": expected a list of maps, found nothing"),
            ("[{key: \(key)}]", "[0].id: expected 1 to 64 letters, digits, _ or -, found nothing"),
            ("[{id: a b, key: \(key)}]", "[0].id: expected 1 to 64 letters, digits, _ or -, found \"a b\""),
            ("[{id: a}]", "[0].key: expected 32 bytes in base64, found nothing"),
            ("[{id: a, key: ''}]", "[0].key: expected 32 bytes in base64, found \"\""),
            ("[{id: a, key: hunter2}]", "[0].key: expected 32 bytes in base64, found a value of 7 characters"),
            ("[{id: a, key: \(key.dropLast(4))}]", "[0].key: expected 32 bytes in base64, found a value of 40 characters"),
            (
                "[{id: a, key: \(key)}, {id: a, key: \(key)}]",
                "[1].id: expected a unique id, found \"a\", the same as store.encryption_keys[0].id"
            ),
            ("[{id: a, key: \(key), kez: b}]", "[0].kez: unknown key; did you mean store.encryption_keys[0].key?"),
        ])
    func wrongKey(list: String, line: String) {
        #expect(problems("store: {encryption_keys: \(list)}") == ["c.yaml:1: store.encryption_keys\(line)"])
    }

    @Test("No variable overrides the encryption keys")
    func variable() {
        #expect(
            problems("", ["FLEETWIRE_STORE_ENCRYPTION_KEYS": "x"]) == [
                "FLEETWIRE_STORE_ENCRYPTION_KEYS: unknown variable; store.encryption_keys is a list, which only the file can set"
            ])
    }

    @Test(
        "An error names its location",
        arguments: [
            ("{path: ''}", "path: expected a file's path, found \"\""),
            ("{path: ~}", "path: expected a file's path, found nothing"),
            ("{path: [a]}", "path: expected a file's path, found a list"),
            ("{durability: off}", "durability: expected full or normal, found \"off\""),
            ("{retention_days: 0}", "retention_days: expected an integer from 1 to 3650, found \"0\""),
            ("{retention: 3}", "retention: unknown key; did you mean store.retention_days?"),
            ("{paths: a}", "paths: unknown key; did you mean store.path?"),
            ("{url: 'mysql://ann:hunter2@h/d'}", "url: \(expectedURL), found a value of 23 characters"),
            ("{url: 'postgresql://h/a b'}", "url: \(expectedURL), found a value of 18 characters"),
            (
                "{url: postgresql://h, path: a, encryption_keys: [{id: a, key: \(key)}]}",
                ": expected either path or url, found both"
            ),
            ("{url: postgresql://h}", "url: \(needsKeys)"), ("{url: postgresql://h, encryption_keys: []}", "url: \(needsKeys)"),
        ])
    func error(yaml: String, line: String) {
        #expect(problems("store: \(yaml)") == ["c.yaml:1: store\(line.hasPrefix(":") ? "" : ".")\(line)"])
    }

    private static let expectedURL = "expected a URL such as postgresql://user:password@host/database, or \"\""
    private static let needsKeys =
        "needs store.encryption_keys, because there is no file beside which a development key could lie"

    @Test("A variable may set the URL although the file has a path")
    func url() throws {
        let keys = "encryption_keys: [{id: a, key: \(Self.key)}]"
        #expect(Settings().store.url == "")
        #expect(try read("store: {path: a, url: ''}").get().store.url == "")
        #expect(
            try read("store: {url: 'postgres://h/d?sslmode=require', \(keys)}").get().store.url
                == "postgres://h/d?sslmode=require")
        let settings = try read("store: {path: a, \(keys)}", ["FLEETWIRE_STORE_URL": "postgresql://u:p@h/d"]).get()
        #expect(settings.store.url == "postgresql://u:p@h/d")
    }
}
