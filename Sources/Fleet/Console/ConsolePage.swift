import CConsole
import HTTP
import JSON

/// The operators' console: a page of files that are part of the binary, at `/console`. The page contains no data: it asks
/// for a token, and with that the gateway's API.
package struct ConsolePage: Sendable {
    private let files: [String: HTTPResponse]

    /// - Parameters:
    ///   - key: that of the fleet's application, to which the page connects.
    ///   - tileURL: the map's tiles, with `{z}`, `{x}` and `{y}`; empty: the map has none.
    ///   - pathPrefix: the path below which browsers reach the gateway; empty: none.
    package init(key: String, tileURL: String, pathPrefix: String = "") {
        let headers = Self.headers(tileOrigin: Self.origin(of: tileURL))
        var files: [String: HTTPResponse] = [:]
        for file in UnsafeBufferPointer(start: console_files, count: console_file_count) {
            files[String(cString: file.name)] = HTTPResponse(
                200, contentType: String(cString: file.type), body: UnsafeBufferPointer(start: file.bytes, count: file.count),
                headers: headers)
        }
        var json = JSONWriter()
        json.object {
            $0.member("key", key)
            $0.member("tileUrl", tileURL.isEmpty ? nil : tileURL)
        }
        files["config.json"] = HTTPResponse(200, contentType: "application/json", body: json.bytes, headers: headers)
        files[""] = files.removeValue(forKey: "console.html").map { Self.page($0, below: pathPrefix, headers) }
        self.files = files
    }

    /// The page with the prefix in front of the paths of its files. These are absolute, because the page is at `/console` and
    /// `/console/`.
    private static func page(_ page: HTTPResponse, below pathPrefix: String, _ headers: HTTPHeaders) -> HTTPResponse {
        let text = String(decoding: page.body, as: UTF8.self).replacing("=\"/console/", with: "=\"\(pathPrefix)/console/")
        return HTTPResponse(page.status, contentType: page.contentType, body: text.utf8, headers: headers)
    }

    /// The names of the files below `/console/`; the empty name is that of the page itself.
    package var names: [String] { files.keys.sorted() }

    /// The response to a request for a file; nil if there is none.
    package func response(for name: String) -> HTTPResponse? { files[name] }

    /// The page may load and connect only to its own gateway, and to the server of the map's tiles; no other page may show
    /// it in a frame.
    private static func headers(tileOrigin: String?) -> HTTPHeaders {
        let images = ["'self'", "data:"] + (tileOrigin.map { [$0] } ?? [])
        let policy = [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
            "img-src \(images.joined(separator: " "))", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ]
        return ["Content-Security-Policy": policy.joined(separator: "; "), "Referrer-Policy": "no-referrer"]
    }

    /// Scheme, host and port of a URL; nil if it is empty.
    private static func origin(of url: String) -> String? {
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count > 2 ? "\(parts[0])//\(parts[2])" : nil
    }
}
