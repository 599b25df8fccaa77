import Primitives
import PusherProtocol

/// The last published event of each cache channel of an application (protocol points K1–K5).
///
/// An event expires after 30 minutes, whether or not its channel has subscribers. If the events together exceed the
/// size limit, the cache evicts the oldest ones.
///
/// The events are linked in the order of their age, so that each operation takes the same time, however many there are: the
/// hub is locked meanwhile. For the same reason an expired event may stay in memory for a while (``expire(at:removalsMax:)``).
package struct EventCache {
    /// An event's lifetime in milliseconds (K3).
    package static let lifetime: Int64 = 30 * 60 * 1000

    private struct Entry {
        let channel: ChannelName
        let frame: Frame
        let expiry: Int64  // monotonic milliseconds
        /// The indices of the next older and the next newer event, or -1.
        var older: Int32
        var newer: Int32 = -1
    }

    private let bytesMax: Int
    /// Nil: free.
    private var entries: [Entry?] = []
    private var free: [Int32] = []
    private var indices: [ChannelName: Int32] = [:]
    private var oldest: Int32 = -1
    private var newest: Int32 = -1
    /// The size of all events, as ``init(bytesMax:)`` defines it.
    private var bytes = 0
    /// The number of events evicted before they expired, because the cache was full.
    package private(set) var evictions = 0

    /// - Parameter bytesMax: the limit for the size of all events in bytes. An event's size is that of its frame and of
    ///   its channel's name, plus 128 bytes: an estimate of what its entries in the cache's tables take.
    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// The channel's last event and its expiry in monotonic milliseconds. Nil if the channel has no event, or if the
    /// event has expired.
    package func event(on channel: ChannelName, at now: Int64) -> (frame: Frame, expiry: Int64)? {
        guard let index = indices[channel], let entry = entries[Int(index)], entry.expiry > now else { return nil }
        return (entry.frame, entry.expiry)
    }

    /// The channels with events. Some of the events may have expired.
    package var channels: [ChannelName] { Array(indices.keys) }

    /// Stores `frame` as the channel's last event.
    /// - Parameter now: monotonic milliseconds.
    package mutating func store(_ frame: Frame, on channel: ChannelName, at now: Int64) {
        if let index = indices[channel] { remove(index) }
        append(Entry(channel: channel, frame: frame, expiry: now + Self.lifetime, older: newest))
        bytes += cost(channel, frame)
        expire(at: now, removalsMax: 2)  // more than are added, so that expired events do not pile up
        while bytes > bytesMax, oldest >= 0 {
            if let entry = entries[Int(oldest)], entry.expiry > now { evictions += 1 }
            remove(oldest)
        }
    }

    /// Removes expired events, the oldest first: all events have the same lifetime.
    /// - Parameter removalsMax: the most events to remove.
    /// - Returns: how many it has removed.
    @discardableResult
    package mutating func expire(at now: Int64, removalsMax: Int = .max) -> Int {
        var count = 0
        while count < removalsMax, oldest >= 0, let entry = entries[Int(oldest)], entry.expiry <= now {
            remove(oldest)
            count += 1
        }
        return count
    }

    /// Gives back the memory of events that are gone, if few are left.
    /// - Returns: whether it has.
    mutating func releaseMemory() -> Bool {
        guard entries.capacity.isSpare(for: indices.count) else { return false }
        let kept = sequence(first: oldest) { [entries] in entries[Int($0)]?.newer }.prefix { $0 >= 0 }
            .compactMap { entries[Int($0)] }
        (entries, free, indices, oldest, newest) = ([], [], [:], -1, -1)
        for entry in kept {
            append(Entry(channel: entry.channel, frame: entry.frame, expiry: entry.expiry, older: newest))
        }
        return true
    }

    private mutating func append(_ entry: Entry) {
        var index = Int32(entries.count)
        if let vacant = free.popLast() {
            index = vacant
            entries[Int(index)] = entry
        } else {
            entries.append(entry)
        }
        if newest >= 0 { entries[Int(newest)]?.newer = index } else { oldest = index }
        newest = index
        indices[entry.channel] = index
    }

    private mutating func remove(_ index: Int32) {
        guard let entry = entries[Int(index)].take() else { return }
        if entry.older >= 0 { entries[Int(entry.older)]?.newer = entry.newer } else { oldest = entry.newer }
        if entry.newer >= 0 { entries[Int(entry.newer)]?.older = entry.older } else { newest = entry.older }
        indices[entry.channel] = nil
        free.append(index)
        bytes -= cost(entry.channel, entry.frame)
    }

    private func cost(_ channel: ChannelName, _ frame: Frame) -> Int { channel.text.utf8.count + frame.bytes.count + 128 }
}
