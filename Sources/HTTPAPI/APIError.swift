import PusherProtocol

/// A refusal: status and the line of text that says why.
package struct APIError: Error, Equatable {
    package let status: Int
    package let text: String
    /// Such as `Allow`.
    package let headers: [String: String]

    package init(_ status: Int, _ text: String, headers: [String: String] = [:]) {
        self.status = status
        self.text = text
        self.headers = headers
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
