import Fleet
import Foundation
import Primitives
import Testing

/// Compares the declarations of the errors' codes in Sources with `Golden/rule-errors.txt`, which lists their kinds, texts
/// and summaries: clients show the texts.
@Suite struct RuleErrorCodeTests {
    private struct Declaration {
        let member: String
        let name: String
        let line: String
    }

    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()

    /// The contents of all files of Sources.
    private static func sources() throws -> [String] {
        let folder = tests.deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")
        var files: [URL] = []
        let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        while let file = all?.nextObject() as? URL {
            if file.pathExtension == "swift" { files.append(file) }
        }
        return try files.map { try String(contentsOf: $0, encoding: .utf8) }
    }

    private static func declarations(in source: String) -> [Declaration] {
        let form =
            /static let (\w+) = Self\(\s*"(\w+)", \.(\w+),\s+("(?:[^"\\]|\\")+")(?:,\s+summary:\s+("[^"]+"))?\)/
        return source.split(separator: "extension RuleError.Code {\n").dropFirst().flatMap { rest in
            let block = rest.split(separator: "\n}\n", maxSplits: 1)[0]
            let declarations = block.matches(of: form).map { match in
                let (_, member, name, kind, text, summary) = match.output
                return Declaration(
                    member: String(member), name: String(name),
                    line: "\(name) \(kind) \(text)" + (summary.map { " \($0)" } ?? ""))
            }
            #expect(declarations.count == block.matches(of: #/static let /#).count, "a code has another form: \(block)")
            return declarations
        }
    }

    @Test func eachCodeHasOneTextAndEachErrorACode() throws {
        let sources = try Self.sources()
        let declarations = sources.flatMap(Self.declarations)
        for declaration in declarations { #expect(declaration.member == declaration.name) }
        #expect(Set(declarations.map(\.name)).count == declarations.count, "two codes have the same name")
        for source in sources { #expect(!source.contains(/RuleError\.Code\(|RuleError\(\.init\(/), "a code without a name") }

        let golden = try String(contentsOf: Self.tests.appending(path: "Golden/rule-errors.txt"), encoding: .utf8)
        #expect(declarations.map(\.line).sorted() == golden.split(separator: "\n").map(String.init))
    }

    @Test func valuesStandInTheirPlaces() {
        let code = RuleError.Code("test", .conflict, "{} is {}")
        #expect(RuleError(code, "{}", "a {}").text == "{} is a {}")
        #expect(RuleError(.init("test", .invalid, "{}"), "").text == "")
        let error = RuleError(.init("test", .limited, "wait {} s", summary: "wait"), "9", retryAfterSeconds: 9)
        #expect(error.text == "wait 9 s" && error.summary == "wait" && error.status == 429)
    }
}
