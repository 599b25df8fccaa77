import FanOut
import HTTPAPI
import PusherProtocol

/// What a loop knows of one of its admitted connections.
struct Client {
    let app: Application
    /// Whom the connection is signed in as.
    var user: SignedInUser?
    /// When anything was last heard of it: seconds on the monotonic clock.
    private(set) var heardAt: Int
    /// Whether it was asked for life since.
    var hasBeenAsked = false
    /// Nil until it sends its first client event: few do.
    private var allowance: EventAllowance?

    init(app: Application, heardAt: Int) {
        self.app = app
        self.heardAt = heardAt
    }

    /// Any traffic counts as life (P2).
    mutating func heard(at seconds: Int) {
        heardAt = seconds
        hasBeenAsked = false
    }

    /// Whether it may send one more client event; if so, it is counted.
    mutating func mayPublish(nowMilliseconds: Int64) -> Bool {
        let perSecond = app.limits.clientEventsPerSecond
        var current = allowance ?? EventAllowance(perSecond: perSecond, now: nowMilliseconds)
        defer { allowance = current }
        return current.take(perSecond: perSecond, now: nowMilliseconds)
    }
}
