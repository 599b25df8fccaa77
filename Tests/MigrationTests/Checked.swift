import Configuration
import Foundation
import Migration
import Testing

/// A report on a file, and the settings that its configuration makes.
struct Checked {
    /// The value of every secret that the tests put anywhere.
    static let secret = "hunter2-and-more-hunter2"

    let text: String
    let settings: Settings

    /// Reads a file, and its report as a configuration, whose variables have values.
    init(_ file: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        text = try MigrationCheck.report(on: Array(file.utf8)).text
        #expect(!text.contains("hunter2"), "a secret is printed", sourceLocation: sourceLocation)
        #expect(
            text.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control },
            sourceLocation: sourceLocation)
        do {
            settings = try Self.settings(text)
        } catch {
            Issue.record("\(error)\n\(text)", sourceLocation: sourceLocation)
            throw error
        }
    }

    /// The settings of a configuration, whose variables have values.
    static func settings(_ text: String) throws -> Settings {
        var environment: [String: String] = [:]
        for match in text.matches(of: /\$\{([A-Z0-9_]+)\}/) {
            environment[String(match.1)] = match.1.hasSuffix("URL") ? "https://hooks.example/\(match.1)" : "\(match.1)-value"
        }
        let path = FileManager.default.temporaryDirectory.appending(path: "migration-\(UUID().uuidString).yaml").path()
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try Settings.load(file: path, environment: environment)
    }

    /// Whether a line of the report contains a text.
    func says(_ part: String) -> Bool {
        text.split(separator: "\n").contains { $0.hasPrefix("#") && $0.contains(part) }
    }
}

/// The error that a file leads to; nil if it is read.
func refusal(_ file: [UInt8]) -> String? {
    do throws(MigrationError) {
        _ = try MigrationCheck.report(on: file)
        return nil
    } catch {
        return error.description
    }
}
