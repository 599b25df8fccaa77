/// The status of an order or a route. Routes only use available, assigned, accepted and cancelled.
package enum JobStatus: String, CaseIterable, Sendable {
    case available
    case assigned
    case accepted
    case enRoute = "en_route"
    case arrived
    case loading
    case inTransit = "in_transit"
    case unloading
    case completed
    case cancelled

    /// The steps that drivers report, in their order. Drivers send a separate request to accept a job; admins' actions
    /// set the other statuses.
    package static let reportable: [JobStatus] = [.enRoute, .arrived, .loading, .inTransit, .unloading, .completed]

    /// Whether the job has ended: its assignment cannot change any more.
    package var isFinal: Bool { self == .completed || self == .cancelled }

    /// The next step; nil if the job has ended.
    package var next: JobStatus? {
        switch self {
        case .available: .assigned
        case .assigned: .accepted
        case .accepted: .enRoute
        case .enRoute: .arrived
        case .arrived: .loading
        case .loading: .inTransit
        case .inTransit: .unloading
        case .unloading: .completed
        case .completed, .cancelled: nil
        }
    }
}

extension JobStatus {
    /// - Parameter label: how the error names the job.
    /// - Throws: `.conflict` (409) if the job has ended.
    func checkOpen(_ label: String) throws(RuleError) {
        if isFinal { throw RuleError(.conflict, "\(label) is \(rawValue)") }
    }

    /// Checks that drivers report this step. `accepted` passes as well: ``checkProgress(to:)`` rejects it with a more
    /// helpful error.
    /// - Throws: `.invalid` (400) if drivers never report this step.
    func checkReportable() throws(RuleError) {
        switch self {
        case .available, .assigned, .cancelled:
            throw RuleError(.invalid, "Expected \"step\" to be one of \(Self.reportable.map(\.rawValue).joined(separator: ", "))")
        case .accepted, .enRoute, .arrived, .loading, .inTransit, .unloading, .completed:
            return
        }
    }

    /// - Throws: `.invalid` (400) unless `step` is the next step after this status. The text names the next step.
    func checkProgress(to step: JobStatus) throws(RuleError) {
        let attempt = "Cannot transition from \(rawValue) to \(step.rawValue)."
        guard let next else { throw RuleError(.invalid, "\(attempt) The job is \(rawValue).") }
        guard step == next else { throw RuleError(.invalid, "\(attempt) Must go to \(next.rawValue) first.") }
        guard step != .accepted else { throw RuleError(.invalid, "\(attempt) Accept the job first.") }
    }
}
