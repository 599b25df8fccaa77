import PusherProtocol

/// Joins the frames that one write sends to a connection. Connections that get the same frames, one after the other,
/// share the joined frame, so a broadcast is joined once.
struct FrameJoiner {
    typealias Span = PendingFrames.Span

    /// A connection with different frames gets at most so many bytes with one write, unless a single frame is longer: a
    /// client may subscribe to thousands of presence channels at once.
    private static let bytesMax = 262_144
    /// So many bytes take about as long as a write: to write them, and to encode them.
    private static let (bytesPerWrite, encodedBytesPerWrite) = (16_384, 2_048)

    /// The last span that was joined for connections that get nothing else, and its frame.
    private var span: Span?
    private var spanFrame: Frame?
    /// The connections that do not get all frames of `span`.
    private var excluded: [SocketID] = []

    /// The last frames that were joined for a connection with several spans or an excluded frame.
    private var numbers: [Int] = []
    private var joined: Frame?
    /// How many of `numbers` it contains.
    private var joinedCount = 0
    /// Kept to reuse its memory.
    private var candidates: [Int] = []
    /// The bytes of lists that were encoded since the last ``cost(_:)``.
    private var encodedBytes = 0

    /// Writes the frame that was joined last, if it has all of `span` and the connection is not excluded from any of
    /// it. This is the usual case: it allocates nothing and counts no references.
    /// - Returns: whether it was written.
    func write(_ span: Span, to socket: SocketID, _ write: (SocketID, Frame) -> Void) -> Bool {
        guard let spanFrame, span == self.span, excluded.isEmpty || !excluded.contains(socket) else { return false }
        write(socket, spanFrame)
        return true
    }

    /// The frame with what `list` has for a connection, in the hub's order. Nil if the connection is excluded from all of
    /// it.
    /// - Returns: `rest`: the numbers of the frames that are left for the next write.
    mutating func frame(
        for socket: SocketID, _ list: SpanLists.List, _ lists: SpanLists, _ frames: PendingFrames
    ) -> (frame: Frame?, rest: ArraySlice<Int>) {
        if let only = lists.onlySpan(of: list) {
            if only != span { join(only, frames) }
            if !excluded.contains(socket) { return (spanFrame, []) }
        }
        candidates.removeAll(keepingCapacity: true)
        lists.forEach(in: list) { span in
            frames.forEach(in: span) { number, except in
                if except != socket { candidates.append(number) }
            }
        }
        // The spans are in the order in which the channels were distributed. The hub's order is that of the numbers.
        candidates.sort()
        guard !candidates.isEmpty else { return (nil, []) }
        if candidates != numbers {
            let (frame, count, encoded) = frames.joined(candidates, bytesMax: Self.bytesMax)
            joined = frame
            joinedCount = count
            encodedBytes += encoded
            swap(&candidates, &numbers)
        }
        return (joined, numbers[joinedCount...])
    }

    /// How many writes of small frames take as long as that of this frame has, which ``frame(for:_:_:_:)`` has returned.
    mutating func cost(_ frame: Frame) -> Int {
        defer { encodedBytes = 0 }
        return 1 + frame.bytes.count / Self.bytesPerWrite + encodedBytes / Self.encodedBytesPerWrite
    }

    private mutating func join(_ span: Span, _ frames: PendingFrames) {
        candidates.removeAll(keepingCapacity: true)
        excluded.removeAll(keepingCapacity: true)
        frames.forEach(in: span) { number, except in
            candidates.append(number)
            if let except { excluded.append(except) }
        }
        self.span = span
        let (frame, _, encoded) = frames.joined(candidates)
        spanFrame = frame
        encodedBytes += encoded
    }
}
