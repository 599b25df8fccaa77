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

    package init() {}
}
