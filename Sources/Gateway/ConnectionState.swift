import FanOut
import HTTPAPI
import PusherProtocol

/// What a loop knows of one of its admitted connections.
struct ConnectionState {
    let app: Application
    /// Whom the connection is signed in as.
    var user: SignedInUser?
    /// When anything was last heard of it: seconds on the monotonic clock.
    private(set) var heardAt: Int
    /// Whether it was asked for life since.
    var hasBeenPinged = false
    /// Nil until it sends its first client event: few do.
    private var eventRateLimit: EventRateLimit?

    init(app: Application, heardAt: Int) {
        self.app = app
        self.heardAt = heardAt
    }

    /// Any traffic counts as life (P2).
    mutating func heard(at seconds: Int) {
        heardAt = seconds
        hasBeenPinged = false
    }

    /// Whether it may send one more client event; if so, it is counted.
    mutating func mayPublish(nowMilliseconds: Int64) -> Bool {
        let perSecond = app.limits.clientEventsPerSecond
        var current = eventRateLimit ?? EventRateLimit(perSecond: perSecond, now: nowMilliseconds)
        defer { eventRateLimit = current }
        return current.consume(perSecond: perSecond, now: nowMilliseconds)
    }
}
