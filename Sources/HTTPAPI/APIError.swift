import Access
import Fleet
import HTTP
import JSON
import Primitives

/// An error response: a status and a line of text.
package struct APIError: Error, Equatable {
    package let status: Int
    /// For the client's developer: what is wrong, and what is expected.
    package let text: String
    /// Additional headers, such as `Allow`.
    package let headers: HTTPHeaders
    /// The fields that are wrong, and why. Empty if the error does not concern single fields.
    package let fields: [InvalidField]
    /// What ``Envelope/message`` shows as `message`. Nil for the usual words of the status.
    let summary: String?
    /// The members of `details` below `/api/mobile/v1`.
    let figures: [RuleError.Figure]

    /// A field of a body that is wrong.
    package struct InvalidField: Equatable {
        /// The path of the field, such as `quietHours.from` or `events[0].type`.
        let path: String
        /// What is expected instead.
        let text: String
    }

    package init(
        _ status: Int, _ text: String, headers: HTTPHeaders = [:], fields: [InvalidField] = [], summary: String? = nil,
        figures: [RuleError.Figure] = []
    ) {
        self.status = status
        self.text = text
        self.headers = headers
        self.fields = fields
        self.summary = summary
        self.figures = figures
    }

    /// The response to a request that a rule rejects.
    package init(_ error: RuleError) {
        if error.kind == .unauthenticated {
            self = .unauthorized(error.text)
            return
        }
        self.init(
            error.status, error.text,
            headers: error.retryAfterSeconds.map { ["Retry-After": "\($0)"] } ?? [:],
            fields: error.fields.map { InvalidField(path: $0.path, text: $0.text) }, summary: error.summary,
            figures: error.figures)
    }

    /// 400: one field is wrong.
    static func field(_ path: String, _ text: String) -> APIError {
        APIError(400, text, fields: [InvalidField(path: path, text: text)])
    }

    /// 400: `Expected "field" to …`.
    /// - Parameter expectation: completes the sentence, such as "be a string".
    static func invalid(_ field: String, _ expectation: String) -> APIError {
        .field(field, "Expected \"\(field)\" to \(expectation)")
    }

    /// 400: `Expected "field": … is required`.
    /// - Parameter kind: what the field must contain, such as "a string".
    static func missing(_ field: String, _ kind: String) -> APIError {
        .field(field, "Expected \"\(field)\": \(kind) is required")
    }

    /// 401. The header tells apps whether they only have to renew the token (RFC 6750 section 3).
    /// - Parameter isExpired: whether the token was valid until it expired.
    package static func unauthorized(_ text: String, isExpired: Bool = false) -> APIError {
        let reason = isExpired ? "expired" : "invalid"
        return APIError(
            401, text,
            headers: ["WWW-Authenticate": #"Bearer error="invalid_token", error_description="\#(reason)""#],
            summary: isExpired ? "Token expired" : nil)
    }

    /// 405, with the header `Allow`.
    /// - Parameter allowed: the methods that the path allows, such as `GET, HEAD`.
    static func methodNotAllowed(_ allowed: String) -> APIError {
        APIError(405, "Method not allowed: use \(allowed)", headers: ["Allow": allowed])
    }

    /// 403: the token is valid, but its role may not use the path.
    static func wrongRole(_ role: Role, required roles: [Role]) -> APIError {
        let required = roles.map(\.rawValue).joined(separator: " or ")
        return APIError(403, "Requires role \(required); the token has role \(role.rawValue)")
    }

    /// The response, as JSON in the fleet's API and as a line of plain text elsewhere.
    /// - Parameter envelope: the JSON format of the path's errors. Nil outside the fleet's API.
    package func response(_ envelope: Envelope?) -> HTTPResponse {
        envelope?.error(self) ?? .text(status, text, headers: headers)
    }

    /// Calls `read`. Maps a ``JSONError`` to 400, and rethrows an ``APIError``.
    static func mappingJSONErrors<Result>(_ read: () throws -> Result) throws(APIError) -> Result {
        do {
            return try read()
        } catch let error as JSONError {
            throw APIError(400, "The body is not a JSON object: \(error.problem) at byte \(error.offset)")
        } catch {
            throw error as? APIError ?? APIError(400, "Invalid body")
        }
    }
}
