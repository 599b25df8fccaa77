import PusherAPI

/// Collects the fields of a body that are wrong, so that one response names all of them.
struct FieldErrors {
    private var fields: [APIError.InvalidField] = []

    /// Calls `read`. Returns nil, and records the fields, if they are wrong.
    /// - Throws: the error of `read` if it concerns no single field.
    mutating func collect<Value>(_ read: () throws(APIError) -> Value) throws(APIError) -> Value? {
        do throws(APIError) {
            return try read()
        } catch {
            guard !error.fields.isEmpty else { throw error }
            fields += error.fields
            return nil
        }
    }

    /// 400 with all recorded fields. Call it if there are any. Groups of paths whose errors are one line get the first.
    var error: APIError { APIError(400, fields.first?.text ?? "Invalid body", fields: fields) }
}
