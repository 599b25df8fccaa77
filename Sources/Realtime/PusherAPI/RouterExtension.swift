import HTTP
import PusherProtocol

/// What an application on top of the Pusher server serves beside Pusher's HTTP API. One instance per thread.
package protocol RouterExtension {
    /// The application whose web pages may call the extension's paths.
    var app: Application { get }

    /// Routes a request whose head is complete, if its path is one of the extension's.
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - preflight: the response to a preflight, which has the extension's errors if it throws.
    /// - Returns: the decision, and the pattern of the path; nil if the path is none of the extension's.
    func route(
        head request: HTTPRequest, now: Int64, preflight: (HTTPRequest) throws(APIError) -> HTTPResponse
    ) -> (routing: Routing, pattern: EndpointPattern)?

    /// The pattern of a path, for a request that is not routed; nil if the path is none of the extension's.
    func pattern(of request: HTTPRequest) -> EndpointPattern?

    /// The format of errors for this request; nil for a line of plain text.
    func errorFormat(of request: HTTPRequest) -> (any ErrorFormat)?

    /// Which credentials permit `/metrics`, for the error of a request that has none: "a token of …".
    var metricsCredentials: String { get }

    /// Permits `/metrics` if the request's own credentials do. Nil if it has none, or they are invalid.
    /// - Throws: ``APIError`` with 403 if they are valid and do not suffice.
    func metrics(_ request: HTTPRequest, now: Int64) throws(APIError) -> Routing?
}

/// A format of error responses, which the clients of a path parse.
package protocol ErrorFormat: Sendable {
    /// The response for an error.
    func response(for error: APIError) -> HTTPResponse

    /// The same format at another time, for formats that contain it: milliseconds since 1970.
    func at(_ milliseconds: Int64) -> Self
}

extension ErrorFormat {
    /// The response for an error that concerns no single field.
    /// - Parameter summary: a shorter text, for formats that have one.
    package func error(
        _ status: Int, _ text: String, summary: String? = nil, headers: HTTPHeaders = [:]
    ) -> HTTPResponse {
        response(for: APIError(status, text, headers: headers, summary: summary))
    }
}

/// An action of an extension, which performs it.
package protocol ExtensionAction: Sendable {}

/// What an extension must learn before it can route a request, such as the keys of a token's issuer.
package protocol MissingFact: Sendable {}
