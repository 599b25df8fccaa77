/// Why an action is rejected.
package struct RuleError: Error, Equatable, Sendable {
    package enum Kind: Sendable {
        /// 400: the request is wrong, or the job's status does not allow the step.
        case invalid
        /// 403: the job has another driver.
        case forbidden
        /// 404: no such order or route.
        case unknown
        /// 409: the current state does not allow the action.
        case conflict
    }

    package let kind: Kind
    /// For people; names the field or the state.
    package let text: String

    package init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }
}
