/// Why an action is rejected.
package struct RuleError: Error, Equatable, Sendable {
    /// Determines the HTTP status of the response.
    package enum Kind: Sendable {
        /// 400: the request is wrong, or the state does not allow the step that the caller reports.
        case invalid
        /// 401: the caller's token is not good any more.
        case unauthenticated
        /// 403: the caller may not do this, or not to this entity.
        case forbidden
        /// 404: no such entity.
        case unknown
        /// 409: the present state or version of the entity does not allow the action.
        case conflict
        /// 429: the caller has to wait.
        case limited
        /// 503: a part that the action needs is out of order, or has reached its limit.
        case unavailable
    }

    /// A field of the request that is wrong.
    package struct Field: Equatable, Sendable {
        /// The path of the field, such as `vehicleDocuments[0].imageUrl`.
        package let path: String
        /// What is expected instead.
        package let text: String

        package init(_ path: String, _ text: String) {
            self.path = path
            self.text = text
        }
    }

    /// A number that apps read from the error, such as the tries that are left.
    package struct Figure: Equatable, Sendable {
        package let name: String
        package let value: Int

        package init(_ name: String, _ value: Int) {
            self.name = name
            self.value = value
        }
    }

    package let code: Code
    /// The error text of the response: the code's, with what this error concerns. Names the field or the state.
    package let text: String
    /// All fields that are wrong; empty if the error concerns no single fields.
    package let fields: [Field]
    /// The value of `Retry-After`. Nil: the response has none.
    package let retryAfterSeconds: Int?
    /// The members of `details`. Empty: the response has none.
    package let figures: [Figure]
    /// The status of the job whose driver reported a step, for the log. Nil if the error concerns no report, or the job
    /// does not exist.
    package var jobStatus: String?

    /// - Parameter values: what stands for each `{}` in the code's text.
    package init(
        _ code: Code, _ values: String..., fields: [Field] = [], retryAfterSeconds: Int? = nil, figures: [Figure] = []
    ) {
        self.code = code
        text = code.text(with: values)
        self.fields = fields
        self.retryAfterSeconds = retryAfterSeconds
        self.figures = figures
    }

    /// 400 with all fields that are wrong.
    /// - Parameter fields: at least one.
    package init(fields: [Field]) { self.init(.wrongFields, fields[0].text, fields: fields) }

    package var kind: Kind { code.kind }

    /// The short `message` of paths whose errors have both texts. Nil for the usual words of the status.
    package var summary: String? { code.summary }

    /// The HTTP status of the error's kind.
    package var status: Int {
        switch kind {
        case .invalid: 400
        case .unauthenticated: 401
        case .forbidden: 403
        case .unknown: 404
        case .conflict: 409
        case .limited: 429
        case .unavailable: 503
        }
    }
}

extension RuleError {
    /// Tells errors apart, whatever their texts say. Each is a static member, declared beside the rules that refuse with it.
    package struct Code: Equatable, Sendable {
        /// The name of the static member.
        package let name: String
        package let kind: Kind
        /// The text of ``RuleError/text``. Each `{}` stands for a value of the error.
        package let text: String
        /// ``RuleError/summary``
        package let summary: String?

        package init(_ name: String, _ kind: Kind, _ text: String, summary: String? = nil) {
            self.name = name
            self.kind = kind
            self.text = text
            self.summary = summary
        }

        fileprivate func text(with values: [String]) -> String {
            guard !values.isEmpty else { return text }
            let parts = text.split(separator: "{}", omittingEmptySubsequences: false)
            assert(parts.count == values.count + 1, "\(name) needs \(parts.count - 1) values")
            return zip(parts, values + [""]).map { $0 + $1 }.joined()
        }
    }
}

extension RuleError.Code {
    /// Fields of a form are wrong; the text is that of the first.
    package static let wrongFields = Self("wrongFields", .invalid, "{}")
}
