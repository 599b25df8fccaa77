/// A parsed WebSocket URL: `/app/KEY?protocol=7&client=…` (protocol points C1, C5–C8).
package enum Handshake: Equatable, Sendable {
    /// A client for the application with this key.
    case app(key: String, version: Int)
    /// The server accepts the WebSocket, then closes it with this code. If `version` is below 6, the server first sends
    /// an error event (C7). `version` is nil if the path is invalid, or the version is invalid or missing.
    case refused(CloseCode, reason: String, version: Int?)

    /// The supported protocol versions. 1–3 are withdrawn; 4 was never widespread.
    package static let versions = 5...7

    /// - Parameters:
    ///   - path: the URL's path, percent-decoded.
    ///   - query: returns the first value of a query parameter, percent-decoded; nil if absent.
    package init(path: String, query: (String) -> String?) {
        let key = path.utf8.dropFirst(5)
        guard path.utf8.starts(with: "/app/".utf8), !key.isEmpty, !key.contains(UInt8(ascii: "/")) else {
            self = .refused(.pathNotFound, reason: "Path not found: connect to /app/KEY", version: nil)
            return
        }
        guard let text = query("protocol"), !text.isEmpty else {
            self = .refused(.missingVersion, reason: "No protocol version supplied: add ?protocol=7", version: nil)
            return
        }
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let version = Int(text) else {
            self = .refused(.badVersion, reason: "Invalid protocol version: expected a number", version: nil)
            return
        }
        guard Self.versions.contains(version) else {
            self = .refused(
                .unsupportedVersion, reason: "Unsupported protocol version \(version): use 5, 6 or 7", version: version)
            return
        }
        self = .app(key: String(Substring(key)), version: version)
    }
}
