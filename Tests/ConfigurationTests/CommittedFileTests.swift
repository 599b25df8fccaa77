import Testing

@testable import Configuration

/// config/fleetwire.yaml is the documentation of the configuration, so it may not lag behind.
@Suite struct CommittedFileTests {
    static let path = #filePath.replacing("Tests/ConfigurationTests/CommittedFileTests.swift", with: "config/fleetwire.yaml")

    @Test("The committed file holds the defaults")
    func defaults() throws {
        #expect(try Settings.load(file: Self.path, environment: [:]) == Settings())
    }

    @Test("The committed file has every key, and no other")
    func everyKey() throws {
        let text = try TextFile.content(of: Self.path)
        let substitution = Substitution(environment: [:], directory: "", content: UnreadableFile.always)
        let reader = SettingsReader(file: Self.path, substitution: substitution)
        var settings = Settings()
        reader.read(text) { settings.read($0) }
        let written = text.split(separator: "\n").compactMap(Line.init)
        #expect(paths(of: written) == Set(reader.keys.names))
    }

    @Test("What stands there as a comment may take the place of what it replaces")
    func alternative() throws {
        let text = try TextFile.content(of: Self.path)
        let secrets = text.replacing(/\ +secret: [^\n]*\n/, with: "").replacing("    # secrets:", with: "    secrets:")
        var expected = Settings()
        expected.apps[0].secrets = ["new", "old"]
        #expect(try read(secrets).get() == expected)
    }

    @Test("Every key with a value has a comment beside it")
    func comments() throws {
        let lines = try TextFile.content(of: Self.path).split(separator: "\n")
        for line in lines where Line(line)?.hasValue == true {
            #expect(line.contains("  # "), "\(line)")
        }
    }

    /// A line `key:` or `key: value` of a file in block style, or such a line as a comment, which takes another's place.
    private struct Line {
        let indentation: Int
        let startsElement: Bool
        let key: String
        let hasValue: Bool

        init?(_ line: Substring) {
            guard let match = line.wholeMatch(of: /( *)(- |# )?([a-z_]+):( +[^# ].*| *#.*|)/) else { return nil }
            startsElement = match.2 == "- "
            indentation = match.1.count + (startsElement ? 2 : 0)
            key = String(match.3)
            hasValue = match.4.contains { $0 != " " } && match.4.first { $0 != " " } != "#"
        }
    }

    private func paths(of lines: [Line]) -> Set<String> {
        var open: [(indentation: Int, path: String)] = []
        var paths: Set<String> = []
        for line in lines {
            open.removeAll { $0.indentation >= line.indentation }
            let parent = open.last.map { $0.path == "apps" ? "apps[0]." : $0.path + "." } ?? ""
            open.append((line.indentation, parent + line.key))
            paths.insert(parent + line.key)
        }
        return paths
    }
}
