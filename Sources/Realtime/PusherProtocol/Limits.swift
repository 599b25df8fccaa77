import Primitives

/// An application's limits. They bound every table, queue and string whose size clients or backends determine.
///
/// The range in parentheses is what the configuration permits, both ends included. Where Pusher documents a limit of
/// its hosted service, the default is that limit (protocol points B6, B7, B9, D2, E8, E9, R9, S8).
public struct Limits: Equatable, Sendable {
    /// UTF-8 bytes of one event's `data` (1–1,048,576). Over the limit: 413 to a backend, an error event to a client.
    public var eventBytes = 10_240
    /// Channels of one publish (1–1,000).
    public var channelsPerEvent = 100
    /// Characters (Unicode scalars) of a channel name or an event name (1–200).
    public var nameLength = 200
    /// Bytes of one WebSocket message from a client (1,024–16,777,216). Over the limit: close 1009.
    public var messageBytes = 65_536
    /// Bytes queued for a connection whose client reads slowly (65,536–1,073,741,824). Over the limit: the connection
    /// is dropped, unless the client takes all of it within 10 s.
    public var outboxBytes = 1_048_576

    /// Simultaneous connections (0–1,000,000); 0 means no limit.
    public var connections = 0
    /// Subscriptions of one connection (1–100,000). Over the limit: an error event.
    public var subscriptions = 5_000
    /// Occupied channels of the application, and users who are watched (0–10,000,000); 0 means no limit. Over the
    /// limit: an error event.
    public var channels = 500_000
    /// Subscriptions of all connections of the application, and the users of their watchlists (0–100,000,000); 0 means no
    /// limit. Over the limit: an error event.
    public var appSubscriptions = 2_000_000
    /// The close code for a connection that exceeds the limit `connections`.
    public var overQuotaClose = OverQuotaClose.overCapacity
    /// Events of one batch (1–1,000).
    public var batchEvents = 10
    /// Members of one presence channel (1–100,000), counted by user, not by connection (R9).
    public var presenceMembers = 100
    /// Bytes of one member's `user_info`, as JSON with its escapes decoded (0–65,536).
    public var presenceInfoBytes = 1_024
    /// Client events of one connection per second (1–1,000). Over the limit: the event is dropped, with error 4301
    /// (E9).
    public var clientEventsPerSecond = 10
    /// Commands (subscribe, unsubscribe, sign in) of one connection per second (0–100,000); 0 means no limit. As
    /// many as ``subscriptions`` may arrive at once, because a client that reconnects subscribes to all its channels.
    /// Over the limit: the command is refused, with error 4301.
    public var commandsPerSecond = 100
    /// Messages and control frames of one connection per second, fragments counted singly, and each as one per started KiB
    /// (0–100,000); 0 means no limit. As many as ``subscriptions`` more may arrive at once. Over the limit: the connection
    /// is not read for a while.
    public var messagesPerSecond = 1_000
    /// Bytes of all cached events of an application (0–1,073,741,824). Over the limit: the oldest events are evicted.
    public var cacheBytes = 67_108_864

    /// More bytes than any name within the limits has: one of 200 characters, or `#server-to-user-` and a user's id. A text
    /// that is longer is not read further, because it is refused whatever follows.
    package static let nameBytesMax = 800
    /// More bytes than `KEY:SIGNATURE` has: clients name the key in a URL, which is no longer.
    static let authBytesMax = 8_192
    /// Characters (Unicode scalars) of a `user_id` (U2).
    package static let userIDLength = 128
    /// Users in one watchlist (W3).
    package static let watchlistLength = 100

    public init() {}

    /// The rate of one connection's client events.
    package var clientEventRate: RateLimit { RateLimit(perSecond: clientEventsPerSecond, burst: clientEventsPerSecond) }
    /// The rate of one connection's commands.
    package var commandRate: RateLimit { rate(commandsPerSecond) }
    /// The rate of one connection's messages. Above the rate of the commands, so that these are refused, not delayed.
    package var messageRate: RateLimit { RateLimit(perSecond: messagesPerSecond, burst: messagesPerSecond + subscriptions) }

    /// The rate of requests that come once per subscription: a client that reconnects subscribes to all its channels at once.
    package func rate(_ perSecond: Int) -> RateLimit {
        RateLimit(perSecond: perSecond, burst: max(perSecond, subscriptions))
    }

    /// The close code for a connection that exceeds the limit `connections`. It determines whether the client
    /// reconnects.
    public enum OverQuotaClose: Int, CaseIterable, Sendable {
        /// 4100: the client reconnects after a back-off.
        case overCapacity = 4100
        /// 4004, as the hosted service uses (C10): the client does not reconnect.
        case overQuota = 4004
    }
}
