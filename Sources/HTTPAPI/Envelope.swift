import HTTP
import JSON

/// The JSON shape of errors. Each group of paths has its own, which existing apps parse.
package enum Envelope: Sendable {
    /// `{"success":false,"error":"…"}`: `/app-*`, and `/api/*` except the paths listed below.
    case success
    /// `{"message":null,"data":null,"error":"…"}`: `/api/auth/*`, `/api/delivery/*`.
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

    /// The response for an error. `/api/auth/*` and `/api/delivery/*` list the text under the name of the invalid
    /// field, because apps display the text beside this field.
    func error(_ error: APIError) -> HTTPResponse {
        guard case .message = self, let field = error.field else {
            return self.error(error.status, error.text, headers: error.headers)
        }
        return Self.response(error.status, error.headers) {
            $0.member("message", nil as String?)
            $0.member("data", nil as String?)
            $0.member("error") {
                $0.member("fields") {
                    $0.key(field)
                    $0.string(error.text)
                }
            }
        }
    }

    /// The response for an error that concerns no single field.
    package func error(_ status: Int, _ text: String, headers: HTTPHeaders = [:]) -> HTTPResponse {
        Self.response(status, headers) {
            switch self {
            case .success: $0.member("success", false)
            case .message:
                $0.member("message", nil as String?)
                $0.member("data", nil as String?)
            case .error: break
            }
            $0.member("error", text)
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
