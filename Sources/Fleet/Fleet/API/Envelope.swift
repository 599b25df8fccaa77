import HTTP
import JSON
import Primitives
import PusherAPI

/// The JSON shape of errors. Each group of paths has its own, which existing apps parse.
package enum Envelope: ErrorFormat {
    /// `{"success":false,"error":"…"}`: `/app-*`, and `/api/*` except the paths listed below.
    case success
    /// `{"message":"…","data":null,"error":…}`: `/api/auth/*`, `/api/delivery/*`. `message` is short and the same for all
    /// errors of a kind; `error` is a text, or the fields that are wrong.
    case message
    /// `{"error":"…"}`: `/pusher/*`, `/api/ops/*`.
    case error
    /// `{"success":false,"message":"…","code":400,"timestamp":"2024-01-01T12:00:00Z"}`, with `details` if apps read
    /// figures from the error: `/api/mobile/v1/*`. The time is in milliseconds since 1970.
    case mobile(at: Int64)

    /// The same envelope at another time.
    package func at(_ milliseconds: Int64) -> Envelope {
        if case .mobile = self { .mobile(at: milliseconds) } else { self }
    }

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
            case "mobile"?: self = segments.next().map { $0 == "v1" } == true ? .mobile(at: 0) : .success
            default: self = .success
            }
        case "pusher": self = .error
        case _ where first.text.utf8.starts(with: "app-".utf8): self = .success
        default: return nil
        }
    }

    /// The response for an error. `/api/auth/*` and `/api/delivery/*` list all wrong fields by name, because apps display
    /// each text beside its field.
    package func response(for error: APIError) -> HTTPResponse {
        if case .mobile(let time) = self { return Self.mobileResponse(error, at: time) }
        return Self.response(error.status, error.headers) {
            switch self {
            case .success:
                $0.member("success", false)
                $0.member("error", error.text)
            case .message where !error.fields.isEmpty: Self.write(error.fields, &$0)
            case .message:
                $0.member("message", error.summary ?? Self.summary(of: error.status) ?? error.text)
                $0.member("data", nil as String?)
                $0.member("error", error.text)
            case .error, .mobile: $0.member("error", error.text)
            }
        }
    }

    private static func write(_ fields: [APIError.InvalidField], _ json: inout JSONWriter) {
        json.member("message", "Validation error")
        json.member("data", nil as String?)
        json.member("error") {
            $0.member("fields") {
                for field in fields {
                    $0.key(field.path)
                    $0.string(field.text)
                }
            }
        }
    }

    /// The `message` of an error with this status, which existing apps show or compare. Nil for a status, such as 400,
    /// whose `message` is the error's own text.
    fileprivate static func summary(of status: Int) -> String? {
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

    private static func mobileResponse(_ error: APIError, at time: Int64) -> HTTPResponse {
        response(error.status, error.headers) {
            $0.member("success", false)
            $0.member("message", error.mobileMessage)
            if !error.figures.isEmpty {
                $0.member("details") {
                    for figure in error.figures {
                        $0.key(figure.name)
                        $0.integer(figure.value)
                    }
                }
            }
            $0.member("code", error.status)
            $0.member("timestamp", Timestamp.wholeSeconds(milliseconds: time))
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

extension APIError {
    /// Apps show or compare it, so errors that concern the request as a whole have the usual words of their status. The
    /// others have their own text.
    fileprivate var mobileMessage: String {
        switch status {
        case 401, 404, 405, 413, 500: summary ?? Envelope.summary(of: status) ?? text
        default: summary ?? text
        }
    }
}
