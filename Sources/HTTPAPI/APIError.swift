import Access
import HTTP
import JSON

/// An error response: a status and a line of text.
package struct APIError: Error, Equatable {
    package let status: Int
    /// For the client's developer: what is wrong, and what is expected.
    package let text: String
    /// Additional headers, such as `Allow`.
    package let headers: HTTPHeaders
    /// The path of the invalid field, such as `quietHours.from`. Nil if the error does not concern a single field.
    package let field: String?

    package init(_ status: Int, _ text: String, headers: HTTPHeaders = [:], field: String? = nil) {
        self.status = status
        self.text = text
        self.headers = headers
        self.field = field
    }

    /// 400: `Expected "field" to …`.
    /// - Parameter expectation: completes the sentence, such as "be a string".
    static func invalid(_ field: String, _ expectation: String) -> APIError {
        APIError(400, "Expected \"\(field)\" to \(expectation)", field: field)
    }

    /// 400: `Expected "field": … is required`.
    /// - Parameter kind: what the field must contain, such as "a string".
    static func missing(_ field: String, _ kind: String) -> APIError {
        APIError(400, "Expected \"\(field)\": \(kind) is required", field: field)
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
    func response(_ envelope: Envelope?) -> HTTPResponse {
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
