/// The status of an order or a route. Routes use only available, assigned, accepted and cancelled.
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

    /// The name as Swift apps write it, `enRoute` for `en_route`.
    package var camelCase: String {
        switch self {
        case .enRoute: "enRoute"
        case .inTransit: "inTransit"
        case .available, .assigned, .accepted, .arrived, .loading, .unloading, .completed, .cancelled: rawValue
        }
    }

    /// Whether the job has ended: its assignment cannot change any more.
    package var isFinal: Bool { self == .completed || self == .cancelled }

    /// Whether the driver is on the way, or at the pickup or the drop-off.
    package var isUnderWay: Bool {
        switch self {
        case .enRoute, .arrived, .loading, .inTransit, .unloading: true
        case .available, .assigned, .accepted, .completed, .cancelled: false
        }
    }

    /// The status that follows this one, unless the job is cancelled. Nil if the job has ended.
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
    /// Checks that the job has not ended.
    /// - Parameter label: the job's name in the error, such as `Order ORD-1`.
    /// - Throws: `.conflict` (409) if the job has ended.
    func checkOpen(_ label: String) throws(RuleError) {
        if isFinal { throw RuleError(.jobEnded, label, rawValue) }
    }

    /// Checks that this is a step on the way from `available` to `completed`. For those that drivers do not report,
    /// ``checkProgress(to:)`` has a more helpful error: it names the next step.
    /// - Throws: `.invalid` (400) for `cancelled`.
    func checkIsStep() throws(RuleError) {
        guard self == .cancelled else { return }
        throw RuleError(.wrongStep, Self.reportable.map(\.rawValue).joined(separator: ", "))
    }

    /// Checks that a driver whose job has this status may report `step` now.
    /// - Throws: `.invalid` (400) if `step` is not the next step. The error names the next step.
    func checkProgress(to step: JobStatus) throws(RuleError) {
        guard let next else { throw RuleError(.noNextStep, rawValue, step.rawValue, rawValue) }
        guard step == next else { throw RuleError(.stepTooEarly, rawValue, step.rawValue, next.rawValue) }
        guard Self.reportable.contains(step) else { throw RuleError(.notAccepted, rawValue, step.rawValue) }
    }
}
