import PusherProtocol

/// Frames for one connection whose socket takes no more at present. It holds references: a slow crowd shares them.
struct Outbox {
    /// A frame, or what is left of it.
    struct Chunk: Equatable {
        let frame: Frame
        /// Bytes of it that have gone already.
        let offset: Int

        var count: Int { frame.bytes.count - offset }
    }

    private var chunks: [Chunk] = []
    private var taken = 0
    /// Bytes waiting.
    private(set) var bytes = 0

    enum Outcome: Equatable {
        case queued
        /// The bound is reached: the connection has to go.
        case overflow
    }

    var isEmpty: Bool { taken == chunks.count }

    mutating func enqueue(_ rest: Chunk, bytesMax: Int) -> Outcome {
        guard bytes + rest.count <= bytesMax else { return .overflow }
        bytes += rest.count
        chunks.append(rest)
        return .queued
    }

    mutating func next() -> Chunk? {
        guard taken < chunks.count else { return nil }
        let rest = chunks[taken]
        taken += 1
        bytes -= rest.count
        // Moving the others up at every frame would be quadratic; at every halving it is linear.
        if taken * 2 >= chunks.count {
            chunks.removeFirst(taken)
            taken = 0
        }
        return rest
    }

    /// Puts back, in front of all others, what was taken and could not be sent whole.
    mutating func putBack(_ rest: Chunk) {
        bytes += rest.count
        chunks.insert(rest, at: taken)
    }
}
