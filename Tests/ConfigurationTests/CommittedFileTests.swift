import Fleet
import Testing
import Yams

@testable import Configuration

/// config/fleetwire.yaml documents the configuration, so it must have every key with its default.
@Suite struct CommittedFileTests {
    /// The committed configuration file.
    static let path = #filePath.replacing("Tests/ConfigurationTests/CommittedFileTests.swift", with: "config/fleetwire.yaml")

    static let cataloguePath = path.replacing("fleetwire.yaml", with: "notifications.yaml")
    /// The value of `STORE_KEY`, to which the commented-out alternative of `store.encryption_keys` refers: 32 bytes in
    /// base64.
    static let storeKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    /// The development secret: `auth.jwt.secret` in the committed file.
    static let secret = "development-secret-change-me-0123456789"

    @Test("The committed file has the default values, except fleet.app and the development secret")
    func defaults() throws {
        var expected = Settings()
        expected.fleet.app = "1001"
        expected.auth.jwt[0].secret = Self.secret
        expected.store.path = TextFile.directory(of: Self.path) + "var/fleetwire.db"
        #expect(try Settings.load(file: Self.path, environment: [:]) == expected)
    }

    @Test("The committed catalogue, read without the built-in one, equals the built-in one")
    func catalogue() throws {
        let text = try TextFile.content(of: Self.cataloguePath)
        let expansion = VariableExpansion(environment: [:], directory: "", readFile: UnreadableFile.missing)
        let reader = SettingsReader(file: Self.cataloguePath, expansion: expansion, isIncluded: true)
        var catalogue = NotificationCatalogue([])
        reader.read(text) { catalogue.read($0) }
        #expect(reader.problems == [])
        #expect(catalogue == .builtIn)
    }

    @Test("The committed file has exactly the known keys")
    func everyKey() throws {
        let text = try TextFile.content(of: Self.path)
        let yaml = withAlternative(text)
        let expansion = VariableExpansion(environment: [:], directory: "", readFile: UnreadableFile.missing)
        let reader = SettingsReader(file: Self.path, expansion: expansion)
        var settings = Settings()
        reader.read(yaml) { settings.read($0) }
        let written = paths(in: try YAMLText(yaml).root(), at: "")
        #expect(written == Set(reader.keys.names.map(withoutIndex)))
    }

    @Test("The commented-out alternatives are valid")
    func alternative() throws {
        let text = try TextFile.content(of: Self.path)
        let yaml = withAlternative(text.replacing(/\ +secret: (secret1|"" {6}.*dashboard)[^\n]*\n/, with: ""))
        var expected = Settings()
        expected.apps[0].secrets = ["new", "old"]
        expected.apps[0].webhooks = [Settings.Webhook(url: "https://example.com/w")]
        expected.store.encryptionKeys = [Settings.Store.EncryptionKey(id: "2026", key: Self.storeKey)]
        expected.fleet.app = "1001"
        expected.auth.jwt[0].secret = Self.secret
        expected.auth.session.secrets = ["new", "old"]
        let settings = try read(yaml, ["STORE_KEY": Self.storeKey], files: ["notifications.yaml": ""]).get()
        #expect(settings == expected)
    }

    @Test("Every key that has a value on its line also has a comment there")
    func comments() throws {
        let lines = try TextFile.content(of: Self.path).split(separator: "\n")
        for line in lines where Line(line)?.hasValue == true {
            #expect(line.contains("  # "), "\(line)")
        }
    }

    /// A line `key:` or `key: value` in YAML's block style. The line may also be a commented-out alternative.
    private struct Line {
        let hasValue: Bool

        init?(_ line: Substring) {
            guard let match = line.wholeMatch(of: /( *)(- |# (?:- |  )?)?([a-z_]+):( +[^# ].*| *#.*|)/) else { return nil }
            hasValue = match.4.contains { $0 != " " } && match.4.first { $0 != " " } != "#"
        }
    }

    /// The file with its commented-out alternatives: `secrets` in addition to `secret`, and the elements of empty
    /// lists.
    private func withAlternative(_ text: String) -> String {
        text.replacing("    # secrets:", with: "    secrets:")
            .replacing(/(webhooks|encryption_keys): \[\]/) { "\($0.1):" }
            .replacing(/\n( *)# (- |  )([a-z_]+: )/) { "\n\($0.1)  \($0.2)\($0.3)" }
    }

    /// The paths of all keys. All elements of a list have the same path, such as `apps[]`.
    private func paths(in node: Node?, at path: String) -> Set<String> {
        switch node {
        case .mapping(let map):
            var paths: Set<String> = []
            for (key, value) in map {
                let inside = (path.isEmpty ? "" : path + ".") + (key.text ?? "")
                paths.formUnion(self.paths(in: value, at: inside).union([inside]))
            }
            return paths
        case .sequence(let nodes):
            return nodes.reduce(into: []) { $0.formUnion(paths(in: $1, at: path + "[]")) }
        default:
            return []
        }
    }

    private func withoutIndex(_ path: String) -> String {
        path.replacing(/\[[0-9]+\]/, with: "[]")
    }
}
