import FanOut
import HTTPAPI
import PusherProtocol

/// What a loop stores about an admitted connection for the Pusher protocol.
struct ConnectionState {
    let app: Application
    /// The user of the connection's `pusher:signin`; nil before it.
    var user: SignedInUser?
    /// Seconds on the monotonic clock when the client last sent a message or a pong.
    private(set) var lastSeenAt: Int
    /// Whether a `pusher:ping` was sent since ``lastSeenAt``.
    var hasBeenPinged = false
    /// Nil until the first client event, which most connections never send.
    private var eventRateLimit: EventRateLimit?

    init(app: Application, seenAt seconds: Int) {
        self.app = app
        lastSeenAt = seconds
    }

    /// Records that the client sent a message or a pong (protocol point P2).
    mutating func recordActivity(at seconds: Int) {
        lastSeenAt = seconds
        hasBeenPinged = false
    }

    /// Counts one client event against the rate limit.
    /// - Returns: false if the event is over the limit.
    mutating func consumeClientEvent(nowMilliseconds: Int64) -> Bool {
        let perSecond = app.limits.clientEventsPerSecond
        var limit = eventRateLimit ?? EventRateLimit(perSecond: perSecond, now: nowMilliseconds)
        defer { eventRateLimit = limit }
        return limit.consume(perSecond: perSecond, now: nowMilliseconds)
    }
}
