import HTTP
import JSON

/// An error response: a status and a line of text.
package struct APIError: Error, Equatable {
    package let status: Int
    /// For the client's developer: what is wrong, and what is expected.
    package let text: String
    /// Additional headers, such as `Allow`.
    package let headers: HTTPHeaders
    /// The fields that are wrong, and why. Empty if the error does not concern single fields.
    package let fields: [InvalidField]
    /// A shorter text, for formats that have one. Nil for the usual words of the status.
    package let summary: String?
    /// Figures that clients compute with, for formats that have them.
    package let figures: [Figure]

    /// A field of a body that is wrong.
    package struct InvalidField: Equatable {
        /// The path of the field, such as `quietHours.from` or `events[0].type`.
        package let path: String
        /// What is expected instead.
        package let text: String

        package init(path: String, text: String) {
            self.path = path
            self.text = text
        }
    }

    /// A figure with a name.
    package struct Figure: Equatable {
        package let name: String
        package let value: Int

        package init(_ name: String, _ value: Int) {
            self.name = name
            self.value = value
        }
    }

    package init(
        _ status: Int, _ text: String, headers: HTTPHeaders = [:], fields: [InvalidField] = [], summary: String? = nil,
        figures: [Figure] = []
    ) {
        self.status = status
        self.text = text
        self.headers = headers
        self.fields = fields
        self.summary = summary
        self.figures = figures
    }

    /// 400: one field is wrong.
    package static func field(_ path: String, _ text: String) -> APIError {
        APIError(400, text, fields: [InvalidField(path: path, text: text)])
    }

    /// 400: `Expected "field" to …`.
    /// - Parameter expectation: completes the sentence, such as "be a string".
    package static func invalid(_ field: String, _ expectation: String) -> APIError {
        .field(field, "Expected \"\(field)\" to \(expectation)")
    }

    /// 400: `Expected "field": … is required`.
    /// - Parameter kind: what the field must contain, such as "a string".
    package static func missing(_ field: String, _ kind: String) -> APIError {
        .field(field, "Expected \"\(field)\": \(kind) is required")
    }

    /// 405, with the header `Allow`.
    /// - Parameter allowed: the methods that the path allows, such as `GET, HEAD`.
    package static func methodNotAllowed(_ allowed: String) -> APIError {
        APIError(405, "Method not allowed: use \(allowed)", headers: ["Allow": allowed])
    }

    /// The response.
    /// - Parameter format: that of the path's errors; nil for a line of plain text.
    package func response(_ format: (any ErrorFormat)?) -> HTTPResponse {
        format?.response(for: self) ?? .text(status, text, headers: headers)
    }

    /// Calls `read`. Maps a ``JSONError`` to 400, and rethrows an ``APIError``.
    package static func mappingJSONErrors<Result>(_ read: () throws -> Result) throws(APIError) -> Result {
        do {
            return try read()
        } catch let error as JSONError {
            throw APIError(400, "The body is not a JSON object: \(error.problem) at byte \(error.offset)")
        } catch {
            throw error as? APIError ?? APIError(400, "Invalid body")
        }
    }
}
