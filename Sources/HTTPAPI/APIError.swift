import JSON

/// A refusal: status and the line of text that says why.
package struct APIError: Error, Equatable {
    package let status: Int
    package let text: String
    /// Such as `Allow`.
    package let headers: [String: String]
    /// The field that is wrong, with what it lies in: `quietHours.from`. Nil where it is no single one.
    package let field: String?

    package init(_ status: Int, _ text: String, headers: [String: String] = [:], field: String? = nil) {
        self.status = status
        self.text = text
        self.headers = headers
        self.field = field
    }

    /// 400: `Expected FIELD to` … be what `expectation` says.
    static func wrong(_ field: String, _ expectation: String) -> APIError {
        APIError(400, "Expected \(field) to \(expectation)", field: field)
    }

    /// 400: `Expected FIELD:` … `what` is required.
    static func missing(_ field: String, _ what: String) -> APIError {
        APIError(400, "Expected \(field): \(what) is required", field: field)
    }

    /// Runs what reads JSON, and makes its errors refusals.
    static func wrappingJSON<Result>(_ read: () throws -> Result) throws(APIError) -> Result {
        do {
            return try read()
        } catch let error as JSONError {
            throw APIError(400, "The body is not JSON: \(error.problem) at byte \(error.offset)")
        } catch {
            throw error as? APIError ?? APIError(400, "Invalid body")
        }
    }
}
