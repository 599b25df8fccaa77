import FanOut
import Primitives
import PusherAPI
import PusherProtocol

/// What a loop stores about an admitted connection for the Pusher protocol.
struct ConnectionRates {
    let app: Application
    /// The user of the connection's `pusher:signin`; nil before it.
    var user: SignedInUser?
    /// The tick at which the client last sent a message or a pong.
    private(set) var lastSeenAt: Int32
    /// When a `pusher:ping` was sent since ``lastSeenAt``, in microseconds of the monotonic clock modulo 2^32, which is 71
    /// minutes; a client has 15 at most. 0: none was.
    private var pingedAt: UInt32 = 0
    private var clientEvents = TokenBucket()
    private var commands = TokenBucket()

    init(app: Application, seenAt tick: Int) {
        self.app = app
        lastSeenAt = Int32(truncatingIfNeeded: tick)
    }

    /// Whether a `pusher:ping` was sent since ``lastSeenAt``.
    var hasBeenPinged: Bool { pingedAt != 0 }

    /// Records that the client sent a message or a pong (protocol point P2).
    mutating func recordActivity(at tick: Int) {
        lastSeenAt = Int32(truncatingIfNeeded: tick)
        pingedAt = 0
    }

    /// Records that the server pings the client.
    /// - Parameter now: nanoseconds on the monotonic clock.
    mutating func recordPing(now: UInt64) { pingedAt = max(1, UInt32(truncatingIfNeeded: now / 1_000)) }

    /// The time since the server's ping in microseconds; nil if it has not pinged since the client was last seen.
    /// - Parameter now: nanoseconds on the monotonic clock.
    func microsecondsSincePing(now: UInt64) -> Int? {
        hasBeenPinged ? Int(UInt32(truncatingIfNeeded: now / 1_000) &- pingedAt) : nil
    }

    /// Counts one client event against the rate limit.
    /// - Returns: false if the event is over the limit.
    mutating func consumeClientEvent(now: Int64) -> Bool { clientEvents.consume(app.limits.clientEventRate, now: now) }

    /// Counts one command (subscribe, unsubscribe, sign in) against the rate limit.
    /// - Returns: false if the command is over the limit.
    mutating func consumeCommand(now: Int64) -> Bool { commands.consume(app.limits.commandRate, now: now) }
}
