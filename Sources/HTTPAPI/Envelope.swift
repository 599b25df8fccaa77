import HTTP
import JSON

/// How a group of paths words its errors: existing apps parse these shapes (DESIGN.md section 2, Surface).
package enum Envelope: Sendable {
    /// `{"success":false,"error":"…"}`: admins, drivers, customers, devices.
    case success
    /// `{"message":null,"data":null,"error":"…"}`: `/api/auth/*`, `/api/delivery/*`.
    case message
    /// `{"error":"…"}`: `/pusher/*`, `/api/ops/*`.
    case error

    /// Of a path as it came; nil outside the fleet's API.
    package init?(path: String) { self.init(path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }) }

    /// Of a path that belongs to the fleet's API; nil for all others.
    init?(_ path: [Substring]) {
        switch (path.first, path.dropFirst().first) {
        case ("api", "auth"), ("api", "delivery"): self = .message
        case ("api", "ops"), ("pusher", _): self = .error
        case ("api", _): self = .success
        case (let first?, _) where first.hasPrefix("app-"): self = .success
        default: return nil
        }
    }

    /// The answer to a mistake. What `/api/auth/*` finds wrong with a field stands under the field's name: apps show it there.
    func error(_ error: APIError) -> HTTPResponse {
        guard case .message = self, let field = error.field else {
            return self.error(error.status, error.text, headers: error.headers)
        }
        var json = JSONWriter()
        json.raw(#"{"message":null,"data":null,"error":{"fields":{"#)
        json.string(field)
        json.raw(":")
        json.string(error.text)
        json.raw("}}}")
        return .json(error.status, json.bytes).adding(error.headers)
    }

    /// The answer that refuses.
    package func error(_ status: Int, _ text: String, headers: [String: String] = [:]) -> HTTPResponse {
        var json = JSONWriter()
        switch self {
        case .success: json.raw(#"{"success":false,"error":"#)
        case .message: json.raw(#"{"message":null,"data":null,"error":"#)
        case .error: json.raw(#"{"error":"#)
        }
        json.string(text)
        json.raw("}")
        return .json(status, json.bytes).adding(headers)
    }
}
