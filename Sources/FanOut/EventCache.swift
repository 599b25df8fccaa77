import PusherProtocol

/// The last published event of each cache channel of an application (protocol points K1–K5).
///
/// An event expires after 30 minutes, whether or not its channel has subscribers. If the events together exceed the
/// size limit, the cache evicts the oldest ones.
package struct EventCache {
    /// An event's lifetime in milliseconds (K3).
    package static let lifetime: Int64 = 30 * 60 * 1000

    private let bytesMax: Int
    private var entries: [ChannelName: Entry] = [:]
    /// One element per stored event, oldest event first. When an event is replaced, its element stays in the array but
    /// is stale: its serial differs from that of the channel's entry.
    private var ages: [(channel: ChannelName, serial: UInt64)] = []
    /// The index in `ages` of the oldest element that has not been dropped.
    private var oldest = 0
    private var nextSerial: UInt64 = 0
    /// The size of all events, as ``init(bytesMax:)`` defines it.
    private var bytes = 0
    /// The number of events evicted before they expired, because the cache was full.
    package private(set) var evictions = 0

    private struct Entry {
        let frame: Frame
        let expiry: Int64  // monotonic milliseconds
        let serial: UInt64
    }

    /// - Parameter bytesMax: the limit for the size of all events in bytes. An event's size is that of its frame and of
    ///   its channel's name, plus 128 bytes: an estimate of what its entries in the cache's tables take.
    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// The channel's last event and its expiry in monotonic milliseconds. Nil if the channel has no event, or if the
    /// event has expired.
    package func event(on channel: ChannelName, at now: Int64) -> (frame: Frame, expiry: Int64)? {
        guard let entry = entries[channel], entry.expiry > now else { return nil }
        return (entry.frame, entry.expiry)
    }

    /// The channels with events.
    package var channels: [ChannelName] { Array(entries.keys) }

    /// Stores `frame` as the channel's last event.
    /// - Parameter now: monotonic milliseconds.
    package mutating func store(_ frame: Frame, on channel: ChannelName, at now: Int64) {
        remove(channel)
        entries[channel] = Entry(frame: frame, expiry: now + Self.lifetime, serial: nextSerial)
        // Each replaced event leaves a stale element. Removing the stale elements takes time linear in the size of
        // `ages`, so the cache does this only once they outnumber the stored events by more than 64.
        if ages.count > 2 * entries.count + 64 {
            ages.removeAll { entries[$0.channel]?.serial != $0.serial }
            oldest = 0
        }
        ages.append((channel, nextSerial))
        nextSerial += 1
        bytes += cost(channel, frame)
        expire(at: now)
        while bytes > bytesMax { evictions += dropOldest() ? 1 : 0 }
    }

    /// Removes expired events. All events have the same lifetime, so the oldest event expires first.
    package mutating func expire(at now: Int64) {
        while oldest < ages.count {
            let (channel, serial) = ages[oldest]
            if let entry = entries[channel], entry.serial == serial, entry.expiry > now { return }
            dropOldest()
        }
    }

    /// Drops the oldest element of `ages` and removes the event for which it was added. Returns false if the element is
    /// stale: a newer event has replaced that event, so nothing is removed.
    @discardableResult
    private mutating func dropOldest() -> Bool {
        let (channel, serial) = ages[oldest]
        let isCurrent = entries[channel]?.serial == serial
        oldest += 1
        if isCurrent { remove(channel) }
        if oldest * 2 > ages.count {
            ages.removeFirst(oldest)
            oldest = 0
        }
        return isCurrent
    }

    private mutating func remove(_ channel: ChannelName) {
        if let entry = entries.removeValue(forKey: channel) { bytes -= cost(channel, entry.frame) }
    }

    private func cost(_ channel: ChannelName, _ frame: Frame) -> Int { channel.text.utf8.count + frame.bytes.count + 128 }
}
