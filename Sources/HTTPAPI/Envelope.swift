import HTTP
import JSON

/// The JSON shape of errors. Each group of paths has its own, which existing apps parse.
package enum Envelope: Sendable {
    /// `{"success":false,"error":"…"}`: `/app-*`, and `/api/*` except the paths listed below.
    case success
    /// `{"message":"…","data":null,"error":…}`: `/api/auth/*`, `/api/delivery/*`. `message` is short and the same for all
    /// errors of a kind; `error` is a text, or the fields that are wrong.
    case message
    /// `{"error":"…"}`: `/pusher/*`, `/api/ops/*`.
    case error

    /// The envelope of errors for a path. Nil outside the fleet's API, and if the path is empty because it could not be
    /// read.
    /// - Parameter path: percent-encoded.
    package init?(rawPath path: UnsafeRawBufferPointer) {
        var segments = PathSegments(path)
        guard let first = segments.next() else { return nil }
        switch first {
        case "apps": return nil  // the most frequent
        case "api":
            switch segments.next() {
            case "auth"?, "delivery"?: self = .message
            case "ops"?: self = .error
            default: self = .success
            }
        case "pusher": self = .error
        case _ where first.text.utf8.starts(with: "app-".utf8): self = .success
        default: return nil
        }
    }

    /// The response for an error. `/api/auth/*` and `/api/delivery/*` list all wrong fields by name, because apps display
    /// each text beside its field.
    package func error(_ error: APIError) -> HTTPResponse {
        guard case .message = self, !error.fields.isEmpty else {
            return self.error(error.status, error.text, summary: error.summary, headers: error.headers)
        }
        return Self.response(error.status, error.headers) {
            $0.member("message", "Validation error")
            $0.member("data", nil as String?)
            $0.member("error") {
                $0.member("fields") {
                    for field in error.fields {
                        $0.key(field.path)
                        $0.string(field.text)
                    }
                }
            }
        }
    }

    /// The response for an error that concerns no single field.
    /// - Parameter summary: the `message` of ``message``. Nil for the usual words of the status.
    package func error(
        _ status: Int, _ text: String, summary: String? = nil, headers: HTTPHeaders = [:]
    ) -> HTTPResponse {
        Self.response(status, headers) {
            switch self {
            case .success: $0.member("success", false)
            case .message:
                $0.member("message", summary ?? Self.summary(of: status) ?? text)
                $0.member("data", nil as String?)
            case .error: break
            }
            $0.member("error", text)
        }
    }

    /// The `message` of an error with this status, which existing apps show or compare. Nil for a status, such as 400,
    /// whose `message` is the error's own text.
    private static func summary(of status: Int) -> String? {
        switch status {
        case 401: "Invalid token"
        case 403: "Forbidden"
        case 404: "Resource not found"
        case 405: "Method not allowed"
        case 409: "Conflict"
        case 413: "Request too large"
        case 429: "Too many requests"
        case 500: "Internal server error"
        case 503: "Service unavailable"
        default: nil
        }
    }

    private static func response(
        _ status: Int, _ headers: HTTPHeaders, _ members: (inout JSONWriter) -> Void
    ) -> HTTPResponse {
        var json = JSONWriter()
        json.object(members)
        return .json(status, json.bytes).adding(headers)
    }
}
