import PusherProtocol

/// Frames queued for one connection whose socket buffer is full. Frames are shared references, so an event is not
/// copied for each of its slow consumers.
struct Outbox {
    /// A frame, or the unsent rest of one.
    struct Chunk: Equatable {
        let frame: Frame
        /// The number of bytes already sent.
        let offset: Int

        var count: Int { frame.bytes.count - offset }
    }

    private var chunks: [Chunk] = []
    /// The index of the first chunk that ``next()`` has not returned.
    private var head = 0
    /// The number of bytes queued.
    private(set) var bytes = 0

    enum EnqueueResult: Equatable {
        case queued
        /// The chunk would exceed the limit; the caller drops the connection.
        case overflow
    }

    var isEmpty: Bool { head == chunks.count }

    /// Appends a chunk unless more than `bytesMax` bytes would be queued.
    mutating func enqueue(_ chunk: Chunk, bytesMax: Int) -> EnqueueResult {
        guard bytes + chunk.count <= bytesMax else { return .overflow }
        bytes += chunk.count
        chunks.append(chunk)
        return .queued
    }

    /// Removes and returns the first chunk; nil if the outbox is empty.
    mutating func next() -> Chunk? {
        guard head < chunks.count else { return nil }
        let chunk = chunks[head]
        head += 1
        bytes -= chunk.count
        // Removing each chunk from the front of the array would take quadratic time in total. Removing the sent chunks
        // once they are half of the array takes linear time.
        if head * 2 >= chunks.count {
            chunks.removeFirst(head)
            head = 0
        }
        return chunk
    }

    /// Puts the unsent rest of the chunk that ``next()`` returned back to the front.
    mutating func putBack(_ chunk: Chunk) {
        bytes += chunk.count
        chunks.insert(chunk, at: head)
    }
}
