extension JobStatus {
    /// The steps that a driver reports, in their order. Accepting is an act of its own, and the rest are the dispatcher's.
    package static let reported: [JobStatus] = [.enRoute, .arrived, .loading, .inTransit, .unloading, .completed]

    /// What comes after it, one step at a time; nil at an end.
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

    /// Whether a driver has agreed to the job.
    var isAgreed: Bool { self != .available && self != .assigned }

    /// Refuses what no driver may report, wherever the job stands.
    func checkReportable() throws(RuleError) {
        switch self {
        case .available, .assigned, .cancelled:
            throw RuleError(.invalid, "step must be one of \(Self.reported.map(\.rawValue).joined(separator: ", "))")
        case .accepted, .enRoute, .arrived, .loading, .inTransit, .unloading, .completed:
            return
        }
    }

    /// Refuses every way but the one to the next step, and says which that is.
    func checkProgress(to step: JobStatus) throws(RuleError) {
        let attempt = "Cannot transition from \(rawValue) to \(step.rawValue)."
        guard let next else { throw RuleError(.invalid, "\(attempt) The job is \(rawValue).") }
        guard step == next else { throw RuleError(.invalid, "\(attempt) Must go to \(next.rawValue) first.") }
        guard step != .accepted else { throw RuleError(.invalid, "\(attempt) The job has to be accepted first, by accept.") }
    }
}
