/// Why an action is rejected.
package struct RuleError: Error, Equatable, Sendable {
    /// Determines the HTTP status of the response.
    package enum Kind: Sendable {
        /// 400: the request is wrong, or the job's status does not allow the step that the driver reports.
        case invalid
        /// 403: the job is not assigned to this driver.
        case forbidden
        /// 404: no such order or route, or no card of this driver.
        case unknown
        /// 409: the job's current status, driver or version does not allow the action.
        case conflict
    }

    package let kind: Kind
    /// The error text of the response. Names the field or the state.
    package let text: String
    /// The status of the job whose driver reported a step, for the log. Nil if the error concerns no report, or the job
    /// does not exist.
    package var jobStatus: JobStatus?

    package init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }
}
