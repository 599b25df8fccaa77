import Foundation
import Testing

@testable import Configuration

/// The files that a configuration is read from, and who may use them.
@Suite struct SettingsFileTests {
    /// A temporary directory, deleted after the test.
    private final class Directory {
        let path = "/tmp/fleetwire-\(UUID().uuidString.prefix(8))"

        init(_ files: [String: String]) throws {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)")) }
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }  // if this fails, the system cleans /tmp later
    }

    private static func files(_ yaml: String, _ environment: [String: String] = [:], _ contents: [String: String]) throws
        -> [SettingsFile]
    {
        try Settings.parseWithFiles(yaml, file: "c.yaml", environment: environment) { path throws(UnreadableFile) in
            guard let content = contents[path] else { return try UnreadableFile.missing(path) }
            return content
        }.files
    }

    @Test func eachFileIsNotedOnceWithItsFirstKey() throws {
        let yaml = """
            apps: [{id: a, key: k, secret: file:/s/app}, {id: b, key: l, secrets: ['file:/s/app', '${X}']}]
            auth: {jwt: {algorithm: RS256, public_key: file:key.pem}}
            store: {url: file:/s/url, encryption_keys: [{id: k, key: file:/s/store}]}
            server: {tls: {certificate: /t/c, key: /t/k}}
            """
        let contents = [
            "/s/app": "x\n", "key.pem": "-----BEGIN PUBLIC KEY-----\nAA\n-----END PUBLIC KEY-----", "/s/url": "postgresql:///f",
            "/s/store": SafetyTests.key, "/t/c": "", "/t/k": "", "/s/token": "t",
        ]
        let variables = ["X": "y", "FLEETWIRE_METRICS_TOKEN": "file:/s/token"]
        let files = Set(try Self.files(yaml, variables, contents).map { "\($0.key) \($0.path) \($0.isSecret)" })
        #expect(
            files == [
                "apps[0].secret /s/app true", "auth.jwt.public_key key.pem false", "store.url /s/url true",
                "store.encryption_keys[0].key /s/store true", "server.tls.certificate /t/c false", "server.tls.key /t/k true",
                "FLEETWIRE_METRICS_TOKEN /s/token true", " c.yaml false",
            ])
    }

    @Test(
        "The configuration is a secret file if a secret or a password is written out in it",
        arguments: [
            ("metrics: {token: t}", true), ("metrics: {token: '${T}'}", false), ("log: {level: info}", false),
            ("store: {url: 'postgresql://u:p@h/f', encryption_keys: [{id: k, key: '${K}'}]}", true),
            ("store: {url: 'postgresql:///f', encryption_keys: [{id: k, key: '${K}'}]}", false),
            ("apps: [{id: a, key: k, secret: '${T}', webhooks: [{url: 'https://e/'}]}]", false),
            ("auth: {introspection: {url: 'https://e/', client_id: f, client_secret: '${T}'}}", false),
            ("auth: {introspection: {url: 'https://e/', client_id: f, client_secret: s}}", true),
        ]) func configurationItself(yaml: String, isSecret: Bool) throws
    {
        let files = try Self.files(yaml, ["T": "t", "K": SafetyTests.key], [:])
        #expect(files.map(\.path) == ["c.yaml"] && files.map(\.isSecret) == [isSecret])
    }

    // MARK: Modes

    private static let file = SettingsFile(key: "apps[0].secret", path: "/s", isSecret: true)

    private static func errors(_ mode: UInt32, group: UInt32 = 7, isSecret: Bool = true) -> (refused: [String], advised: [String])
    {
        let file = SettingsFile(key: file.key, path: file.path, isSecret: isSecret)
        let found = FilePermissions(mode: mode, group: group)
        return (
            Settings.writableFiles([file], file: "c.yaml", ownGroups: [0, 7]) { _ in found }.map(\.description),
            Settings.readableFiles([file], file: "c.yaml") { _ in found }.map(\.description)
        )
    }

    @Test func othersMustNotWrite() {
        for mode: UInt32 in [0o600, 0o640, 0o400, 0o660, 0o444, 0o644] { #expect(Self.errors(mode).refused == []) }
        let problem = "c.yaml: apps[0].secret: expected a file that no other user may change, found mode"
        #expect(Self.errors(0o666).refused == ["\(problem) 0666 of \"/s\": chmod o-w"])
        #expect(Self.errors(0o660, group: 8).refused == ["\(problem) 0660 of \"/s\": chmod g-w"])
        #expect(Self.errors(0o622, group: 8, isSecret: false).refused == ["\(problem) 0622 of \"/s\": chmod go-w"])
        #expect(Self.errors(0o660, group: 0).refused == [], "root's group may")
    }

    @Test func everybodyShouldNotReadASecret() {
        for mode: UInt32 in [0o600, 0o640, 0o660] { #expect(Self.errors(mode).advised == []) }
        #expect(
            Self.errors(0o644).advised == [
                "c.yaml: apps[0].secret: every user of this machine may read \"/s\" (mode 0644): chmod o-r"
            ])
        #expect(Self.errors(0o644, isSecret: false).advised == [])
    }

    @Test func modesAreThoseOfTheFileBehindALink() throws {
        let directory = try Directory(["secret": "s"])
        let path = directory.path + "/secret"
        chmod(path, 0o646)
        symlink(path, path + ".link")
        let found = try #require(FilePermissions(path: path + ".link"))
        #expect(found.octal == "0646" && found.writersRemedy(FilePermissions.ownGroups) == "chmod o-w")
        #expect(FilePermissions(path: path + ".gone") == nil)
        #expect(Settings.writableFiles([Self.file], file: "c") { _ in nil } == [])
    }

    @Test func aByteOrderMarkIsNoPartOfASecret() throws {
        let directory = try Directory([
            "secret": "\u{FEFF}s3cret\n", "c.yaml": "\u{FEFF}metrics: {token: 'file:secret'}",
        ])
        #expect(try Settings.load(file: directory.path + "/c.yaml", environment: [:]).metrics.token == "s3cret")
    }

    @Test func whiteSpaceAroundAURLIsIgnored() throws {
        let yaml = "store: {url: file:u, encryption_keys: [{id: k, key: \(SafetyTests.key)}]}"
        #expect(try read(yaml, files: ["u": "\u{A0} postgresql:///f \r\n\n"]).get().store.url == "postgresql:///f")
    }
}
