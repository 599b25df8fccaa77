/// The status of a lane. Times are milliseconds since 1970.
package struct LaneStatus: Equatable, Sendable {
    /// Raw values are those of the REST API.
    package enum State: String, Sendable {
        case running
        /// The lane does not send for a limited time, or until a credential is available.
        case paused
        /// The lane does not send until a probe succeeds, usually because an operator has fixed the configuration. It
        /// probes every 30 s.
        case stopped
    }

    /// A failure and when it happened.
    package struct Failure: Equatable, Sendable {
        package let text: String
        package let at: Int64
    }

    package var state = State.running
    /// When `state` began.
    package var since: Int64 = 0
    /// When a paused lane sends its next request, as a probe. Nil if the lane is not paused, or waits for a credential.
    package var pausedUntil: Int64?
    /// Requests in flight.
    package var inFlight = 0
    package var lastError: Failure?
    /// When the provider last accepted a push.
    package var lastAcceptedAt: Int64?

    package init() {}
}

extension Lane {
    /// The present status.
    package var status: LaneStatus {
        var status = recorded
        switch congestion.mode {
        case .running: status.state = isCredentialMissing ? .paused : .running
        case .paused: status.state = .paused
        case .stopped: status.state = .stopped
        }
        status.since = max(congestion.since, isCredentialMissing && congestion.mode == .running ? credentialSince : .min)
        status.pausedUntil = congestion.pausedUntil
        status.inFlight = inFlight.count
        return status
    }

    mutating func recordError(_ text: String, _ now: Int64) {
        recorded.lastError = LaneStatus.Failure(text: text, at: now)
    }
}
