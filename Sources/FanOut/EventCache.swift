import PusherProtocol

/// The last published event of each cache channel of an application (PROTOCOL K1–K5): for 30 minutes, with or without
/// subscribers, within a bound of bytes. Beyond it the oldest go.
package struct EventCache {
    /// How long an event is kept, in milliseconds (K3).
    package static let lifetime: Int64 = 30 * 60 * 1000

    private let bytesMax: Int
    private var entries: [ChannelName: Entry] = [:]
    /// Channels by age of their event, oldest first. An entry that was replaced leaves its old place here, to be skipped.
    private var ages: [(channel: ChannelName, serial: UInt64)] = []
    private var oldest = 0
    private var nextSerial: UInt64 = 0
    private var bytes = 0
    /// Events that went before their time, for want of room.
    package private(set) var evictions = 0

    private struct Entry {
        let frame: Frame
        let expiry: Int64
        let serial: UInt64
    }

    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// The event kept for `channel`, and when it goes.
    package func event(on channel: ChannelName, at now: Int64) -> (frame: Frame, expiry: Int64)? {
        guard let entry = entries[channel], entry.expiry > now else { return nil }
        return (entry.frame, entry.expiry)
    }

    /// Keeps `frame` as the last event of `channel`.
    package mutating func store(_ frame: Frame, on channel: ChannelName, at now: Int64) {
        remove(channel)
        entries[channel] = Entry(frame: frame, expiry: now + Self.lifetime, serial: nextSerial)
        // A busy channel leaves a place behind with every event: sweep them once they outnumber the living.
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

    /// Lets go what has outlived its time. All live equally long, so age is the order of leaving.
    package mutating func expire(at now: Int64) {
        while oldest < ages.count {
            let (channel, serial) = ages[oldest]
            if let entry = entries[channel], entry.serial == serial, entry.expiry > now { return }
            dropOldest()
        }
    }

    /// Removes the oldest place, and the event if it still stands there; false when another has replaced it.
    @discardableResult
    private mutating func dropOldest() -> Bool {
        let (channel, serial) = ages[oldest]
        let stands = entries[channel]?.serial == serial
        oldest += 1
        if stands { remove(channel) }
        if oldest * 2 > ages.count {
            ages.removeFirst(oldest)
            oldest = 0
        }
        return stands
    }

    private mutating func remove(_ channel: ChannelName) {
        if let entry = entries.removeValue(forKey: channel) { bytes -= cost(channel, entry.frame) }
    }

    private func cost(_ channel: ChannelName, _ frame: Frame) -> Int { channel.text.utf8.count + frame.bytes.count + 128 }
}
