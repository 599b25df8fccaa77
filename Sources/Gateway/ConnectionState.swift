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
    private var clientEvents: TokenBucket?
    /// Nil until the first command.
    private var commands: TokenBucket?

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
        var bucket = clientEvents ?? TokenBucket(size: perSecond, now: nowMilliseconds)
        defer { clientEvents = bucket }
        return bucket.consume(perSecond: perSecond, size: perSecond, now: nowMilliseconds)
    }

    /// Counts one command (subscribe, unsubscribe, sign in) against the rate limit.
    /// - Returns: false if the command is over the limit.
    mutating func consumeCommand(nowMilliseconds: Int64) -> Bool {
        let perSecond = app.limits.commandsPerSecond
        guard perSecond > 0 else { return true }
        // A client that reconnects subscribes to all its channels at once.
        let size = max(perSecond, app.limits.subscriptions)
        var bucket = commands ?? TokenBucket(size: size, now: nowMilliseconds)
        defer { commands = bucket }
        return bucket.consume(perSecond: perSecond, size: size, now: nowMilliseconds)
    }
}
