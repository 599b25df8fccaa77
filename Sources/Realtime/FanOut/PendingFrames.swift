import Primitives
import PusherProtocol

/// The frames of a loop that some connection has not been sent yet, in the hub's order.
///
/// A frame is identified by its number. Numbers ascend and are never reused. The frames of a channel are linked, so
/// that a run of them is described by the numbers of its first and last frame, however many it has (``Span``).
struct PendingFrames {
    /// Consecutive frames of one channel, or a single frame for one connection.
    struct Span: Equatable {
        let first: Int
        var last: Int
    }

    private struct Entry {
        /// Empty if `list` is not nil.
        var frame = Frame.none
        /// The list that is encoded when it is written.
        var list: PresenceList?
        /// The connection that does not get the frame.
        let except: SocketID?
        /// Nil for a frame for a single connection.
        let channel: ChannelSlot?
        /// The number of the channel's next frame, or -1.
        var next = -1
    }

    private var entries: [Entry] = []
    /// The number of `entries[0]`.
    private var start = 0

    /// The number of frames in memory.
    var count: Int { entries.count }

    /// The number of the next frame.
    var end: Int { start + entries.count }

    /// Appends a frame.
    /// - Parameters:
    ///   - channel: nil for a frame for a single connection.
    ///   - last: the frame of `channel` after which the new frame is to be linked; nil for none.
    /// - Returns: the frame's number.
    mutating func append(_ frame: Frame, channel: ChannelSlot? = nil, except: SocketID? = nil, after last: Int? = nil) -> Int {
        let number = end
        entries.append(Entry(frame: frame, except: except, channel: channel))
        if let last { entries[last - start].next = number }
        return number
    }

    /// Appends the message with a list, for a single connection.
    /// - Returns: the frame's number.
    mutating func append(_ list: PresenceList) -> Int {
        entries.append(Entry(list: list, except: nil, channel: nil))
        return end - 1
    }

    /// Whether `span` begins with the frame that follows frame `last` in a channel. Links the two if they belong to one
    /// channel and `last` has no next frame yet.
    mutating func links(_ last: Int, to span: Span) -> Bool {
        let entry = entries[last - start]
        if entry.next == span.first { return true }
        guard entry.next < 0, let channel = entry.channel, channel == entries[span.first - start].channel else { return false }
        entries[last - start].next = span.first
        return true
    }

    /// Calls `body` with the number of each frame of `span`, and with the connection that does not get it.
    func forEach(in span: Span, _ body: (_ number: Int, _ except: SocketID?) -> Void) {
        var number = span.first
        while true {
            body(number, entries[number - start].except)
            if number == span.last { return }
            number = entries[number - start].next
        }
    }

    /// One frame with the content of the first of the given frames, as many as have at most `bytesMax` bytes together, and
    /// at least one. A single frame is not copied.
    /// - Returns: how many they are, and the bytes of lists that were encoded for them.
    func joined(_ numbers: [Int], bytesMax: Int = .max) -> (frame: Frame, count: Int, encodedBytes: Int) {
        if numbers.count == 1 {
            let (frame, isNew) = frame(numbers[0])
            return (frame, 1, isNew ? frame.bytes.count : 0)
        }
        var (parts, byteCount, encodedBytes) = ([Frame](), 0, 0)
        for number in numbers {
            let (frame, isNew) = frame(number)
            if isNew { encodedBytes += frame.bytes.count }
            byteCount += frame.bytes.count
            if byteCount > bytesMax, !parts.isEmpty { break }
            parts.append(frame)
        }
        return (parts.count == 1 ? parts[0] : Frame(joining: parts), parts.count, encodedBytes)
    }

    private func frame(_ number: Int) -> (frame: Frame, isNew: Bool) {
        let entry = entries[number - start]
        return entry.list?.frame() ?? (entry.frame, false)
    }

    /// Gives back the memory of frames that are gone. Call it when none is left.
    mutating func releaseMemory() { _ = entries.releaseSpareCapacity() }

    /// Forgets the frames before frame `number`, as soon as this frees at least half of the memory: the time is then
    /// constant per frame.
    mutating func removeAll(before number: Int) {
        let count = number - start
        guard count * 2 >= entries.count, count > 0 else { return }
        if count == entries.count { entries.removeAll(keepingCapacity: true) } else { entries.removeFirst(count) }
        start = number
    }
}
