import PusherProtocol

/// The last published event of each cache channel of an application (protocol points K1–K5). Events expire after 30
/// minutes, with or without subscribers. If the cache exceeds its size in bytes, it evicts the oldest events.
package struct EventCache {
    /// An event's lifetime in milliseconds (K3).
    package static let lifetime: Int64 = 30 * 60 * 1000

    private let bytesMax: Int
    private var entries: [ChannelName: Entry] = [:]
    /// Channels by age of their event, oldest first. A replaced event leaves a stale element, which is skipped.
    private var ages: [(channel: ChannelName, serial: UInt64)] = []
    private var oldest = 0
    private var nextSerial: UInt64 = 0
    private var bytes = 0
    /// The number of events evicted before they expired, because the cache was full.
    package private(set) var evictions = 0

    private struct Entry {
        let frame: Frame
        let expiry: Int64
        let serial: UInt64
    }

    /// - Parameter bytesMax: the size limit in bytes. An event counts with its frame, its channel's name and 128 bytes
    ///   of overhead.
    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// The channel's last event and its expiry in monotonic milliseconds; nil if there is none or it has expired.
    package func event(on channel: ChannelName, at now: Int64) -> (frame: Frame, expiry: Int64)? {
        guard let entry = entries[channel], entry.expiry > now else { return nil }
        return (entry.frame, entry.expiry)
    }

    /// Stores `frame` as the channel's last event.
    /// - Parameter now: monotonic milliseconds.
    package mutating func store(_ frame: Frame, on channel: ChannelName, at now: Int64) {
        remove(channel)
        entries[channel] = Entry(frame: frame, expiry: now + Self.lifetime, serial: nextSerial)
        // Each event of a busy channel leaves a stale element: remove them once they outnumber the others.
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

    /// Removes expired events. All have the same lifetime, so the oldest expires first.
    package mutating func expire(at now: Int64) {
        while oldest < ages.count {
            let (channel, serial) = ages[oldest]
            if let entry = entries[channel], entry.serial == serial, entry.expiry > now { return }
            dropOldest()
        }
    }

    /// Removes the oldest element of `ages` and its event. Returns false if a newer event has replaced that one.
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
