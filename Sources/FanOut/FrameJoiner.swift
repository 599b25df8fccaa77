import PusherProtocol

/// Joins the frames that one write sends to a connection. Connections that get the same frames, one after the other,
/// share the joined frame, so a broadcast is joined once.
struct FrameJoiner {
    typealias Span = PendingFrames.Span

    /// The last span that was joined for connections that get nothing else, and its frame.
    private var span: Span?
    private var spanFrame: Frame?
    /// The connections that do not get all frames of `span`.
    private var excluded: [SocketID] = []

    /// The last frames that were joined for a connection with several spans or an excluded frame.
    private var numbers: [Int] = []
    private var joined: Frame?
    /// Kept to reuse its memory.
    private var candidates: [Int] = []

    /// Writes the frame that was joined last, if it has all of `span` and the connection is not excluded from any of
    /// it. This is the usual case: it allocates nothing and counts no references.
    /// - Returns: whether it was written.
    func write(_ span: Span, to socket: SocketID, _ write: (SocketID, Frame) -> Void) -> Bool {
        guard let spanFrame, span == self.span, excluded.isEmpty || !excluded.contains(socket) else { return false }
        write(socket, spanFrame)
        return true
    }

    /// The frame with all that `list` has for a connection, in the hub's order. Nil if the connection is excluded from
    /// all of it.
    mutating func frame(for socket: SocketID, _ list: SpanLists.List, _ lists: SpanLists, _ frames: PendingFrames) -> Frame? {
        if let only = lists.onlySpan(of: list) {
            if only != span { join(only, frames) }
            if !excluded.contains(socket) { return spanFrame }
        }
        candidates.removeAll(keepingCapacity: true)
        lists.forEach(in: list) { span in
            frames.forEach(in: span) { number, except in
                if except != socket { candidates.append(number) }
            }
        }
        // The spans are in the order in which the channels were distributed. The hub's order is that of the numbers.
        candidates.sort()
        guard !candidates.isEmpty else { return nil }
        if candidates != numbers {
            joined = frames.joined(candidates)
            swap(&candidates, &numbers)
        }
        return joined
    }

    private mutating func join(_ span: Span, _ frames: PendingFrames) {
        candidates.removeAll(keepingCapacity: true)
        excluded.removeAll(keepingCapacity: true)
        frames.forEach(in: span) { number, except in
            candidates.append(number)
            if let except { excluded.append(except) }
        }
        self.span = span
        spanFrame = frames.joined(candidates)
    }
}
