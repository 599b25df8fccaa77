import Primitives

/// The e-mail addresses that a customer wanted to have and that other accounts have. Each refusal tells that there is such an
/// account, so there are few in an hour.
package struct EmailRefusals: Equatable, Sendable {
    /// Refusals in an hour, after which no new address is looked at.
    package static let hourMax = 5

    /// The times of the newest refusals, oldest first, at most ``hourMax``. Milliseconds since 1970.
    package private(set) var times: [Int64]

    /// - Parameter times: in any order.
    package init(times: [Int64] = []) { self.times = Array(times.sorted().suffix(Self.hourMax)) }

    package mutating func record(at now: Int64) { self = EmailRefusals(times: times.filter { $0 <= now } + [now]) }

    /// The error for a further address; nil while it may be looked at.
    package func refusal(now: Int64) -> RuleError? {
        SignInCodeLimits.wait(times, window: SignInCodeLimits.hour, most: Self.hourMax, now: now).map {
            RuleError(.tooManyRequests, retryAfterSeconds: $0)
        }
    }
}
