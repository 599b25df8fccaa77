/// Where an order or a route stands. Routes know only available, assigned, accepted and cancelled.
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

    /// Whether nothing can change any more.
    package var isFinal: Bool { self == .completed || self == .cancelled }
}
