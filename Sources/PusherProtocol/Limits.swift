/// What an application may ask of the server: every table, queue and text has its bound here.
///
/// Defaults are the hosted service's documented limits (PROTOCOL B6–B9, S8, D1) where it has one.
package struct Limits: Equatable, Sendable {
    /// Bytes of one event's `data`, as UTF-8 (1–1,048,576). Beyond: 413, or an error event.
    package var eventBytes = 10_240
    /// Channels one publish may name (1–1,000).
    package var channelsPerEvent = 100
    /// Characters of a channel's or event's name (1–200).
    package var nameLength = 200
    /// Bytes of one WebSocket message a client may send (1,024–16,777,216). Beyond: close 1009.
    package var messageBytes = 65_536
    /// Bytes that may wait for one slow consumer (65,536–1,073,741,824). Beyond: it is dropped.
    package var outboxBytes = 1_048_576

    /// Connections at once (0–1,000,000). 0: as many as the machine takes.
    package var connections = 0
    /// Channels one connection may be subscribed to (1–100,000). Beyond: an error event.
    package var subscriptions = 5_000
    /// What a connection beyond `connections` is closed with.
    package var overQuotaClose = OverQuotaClose.overCapacity
    /// Events of one batch (1–1,000).
    package var batchEvents = 10
    /// Members of one presence channel (1–100,000), by user, not by connection (R9).
    package var presenceMembers = 100
    /// Bytes of one member's `user_info`, as JSON (0–65,536).
    package var presenceInfoBytes = 1_024
    /// Client events a connection may send per second (1–1,000). Beyond: dropped, with error 4301 (E9).
    package var clientEventsPerSecond = 10
    /// Bytes that cache channels may keep for an application (0–1,073,741,824). Beyond: the oldest go.
    package var cacheBytes = 67_108_864

    /// Characters of a `user_id` (R9).
    package static let userIDLength = 128
    /// Users one may watch (W3).
    package static let watchlistLength = 100

    package init() {}

    /// What a client is told that finds no room, and so whether it comes back.
    package enum OverQuotaClose: Int, CaseIterable, Sendable {
        /// 4100: it backs off and comes back.
        case overCapacity = 4100
        /// 4004, as the hosted service (C10): it stays away.
        case overQuota = 4004
    }
}
