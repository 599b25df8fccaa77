/// Reads a file of another Pusher server or of a browser, and tells what a start with this gateway needs.
///
/// It reads what strangers may have written: what it keeps is bounded, whatever the file contains, and every error says what
/// was expected. Secrets go nowhere: the configuration refers to environment variables instead.
package enum MigrationCheck {
    /// The largest recording. A browser's recordings of an hour have some ten megabytes.
    package static let recordingBytesMax = 134_217_728
    /// The largest configuration.
    static let configurationBytesMax = 1_048_576

    /// The report on a file. Its content tells what it is, not its name.
    /// - Throws: ``MigrationError`` if the file is none of the known kinds, or cannot be read as what it seems to be.
    package static func report(on bytes: [UInt8]) throws(MigrationError) -> MigrationReport {
        // The HAR 1.2 specification permits a byte order mark before the JSON, and Windows editors write one.
        let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        guard let first = content.first(where: { !" \t\r\n".utf8.contains($0) }) else {
            throw MigrationError("the file is empty")
        }
        guard first == UInt8(ascii: "{") else { return try reportOnVariables(content) }
        let members = try JSONDocument.members(of: content)
        if members.contains(where: { $0 == "log" }) { return try BrowserRecording(content).report }
        guard members.contains(where: SoketiFile.isOption) else {
            throw MigrationError(
                "a JSON object that is neither a browser's recording (\"log\") nor a configuration of Soketi (\"appManager…\")")
        }
        try checkSize(content)
        return try SoketiFile(content).report
    }

    private static func reportOnVariables(_ content: [UInt8]) throws(MigrationError) -> MigrationReport {
        try checkSize(content)
        guard !content.contains(0), let text = String(validating: content, as: UTF8.self) else {
            throw MigrationError("neither JSON nor text in UTF-8: expected a soketi.json, a Laravel .env or a HAR recording")
        }
        return try LaravelVariables(EnvironmentFile(text)).report()
    }

    private static func checkSize(_ content: [UInt8]) throws(MigrationError) {
        guard content.count <= configurationBytesMax else {
            throw MigrationError("\(content.count) bytes: a configuration has at most \(configurationBytesMax)")
        }
    }
}

/// Why a file cannot be read, for the operator. Quotes no value of the file.
package struct MigrationError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
