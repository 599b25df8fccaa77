/// Bytes queued for one connection whose socket is full. Frames are shared references, so an event is not copied for
/// each of its slow consumers.
struct Outbox {
    /// Small chunks are joined up to this size in bytes.
    private static let joinedBytesMax = 1_024

    private var chunks: [[UInt8]] = []
    /// The index of the first chunk that is not sent completely.
    private var head = 0
    /// The number of bytes of that chunk that are sent.
    private var offset = 0
    /// The number of bytes queued.
    private(set) var bytes = 0

    /// The bytes of memory that the outbox keeps: those queued, and the sent ones of a chunk that is not sent completely. An
    /// answer of megabytes stays in memory until its last byte is sent.
    var heldBytes: Int { bytes + offset }

    var isEmpty: Bool { bytes == 0 }

    /// Appends what follows the first `offset` bytes of `chunk`.
    mutating func enqueue(_ chunk: [UInt8], from offset: Int = 0) {
        guard offset < chunk.count else { return }
        // Only the first chunk can be sent in part: a later one is queued whole, because sending stops at the first.
        if isEmpty {
            self.offset = offset
            chunks.append(chunk)
        } else if let last = chunks.last, last.count + chunk.count <= Self.joinedBytesMax {
            // Each array has an overhead of some 50 bytes, which pongs and other small chunks would multiply.
            chunks[chunks.count - 1].append(contentsOf: chunk[offset...])
        } else {
            chunks.append(offset == 0 ? chunk : Array(chunk[offset...]))
        }
        bytes += chunk.count - offset
    }

    /// Removes all that follows the WebSocket frame of which a part is sent, so that another frame can come next. All chunks
    /// must be whole frames of the server, one after the other (RFC 6455 section 5.2).
    mutating func cutBehindPresentFrame() {
        let present = isEmpty ? [] : chunks[head]
        let sent = offset
        self = Outbox()
        enqueue(Array(present[sent..<Self.frameEnd(atOrBehind: sent, in: present)]))
    }

    /// The end of the frame that a position lies in; the position itself if a frame begins there.
    private static func frameEnd(atOrBehind position: Int, in frames: [UInt8]) -> Int {
        var end = 0
        while end < position, end + 2 <= frames.count {
            let short = Int(frames[end + 1] & 0x7F)
            let extra = short == 127 ? 8 : short == 126 ? 2 : 0
            guard end + 2 + extra <= frames.count else { return frames.count }
            let length = extra == 0 ? short : frames[end + 2..<end + 2 + extra].reduce(0) { $0 << 8 | Int($1) }
            end += 2 + extra + length
        }
        return min(end, frames.count)
    }

    /// Calls `send` with the next bytes, at most `bytesMax`. Joins small chunks in
    /// `scratch`, because a write costs much more than a copy.
    func withNext<Result>(_ bytesMax: Int, _ scratch: inout [UInt8], _ send: (UnsafeRawBufferPointer) -> Result) -> Result {
        let first = chunks[head]
        if head + 1 == chunks.count || first.count - offset >= bytesMax {
            return first.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[offset...].prefix(bytesMax))) }
        }
        scratch.removeAll(keepingCapacity: true)
        scratch.append(contentsOf: first[offset...])
        for chunk in chunks[(head + 1)...] {
            let room = bytesMax - scratch.count
            if room == 0 { break }
            scratch.append(contentsOf: chunk.prefix(room))
        }
        return scratch.withUnsafeBytes(send)
    }

    /// Removes the first `count` bytes: they are sent.
    mutating func removeFirst(_ count: Int) {
        bytes -= count
        offset += count
        while head < chunks.count, offset >= chunks[head].count {
            offset -= chunks[head].count
            chunks[head] = []
            head += 1
        }
        // Removing each chunk from the front of the array would take quadratic time in total. Removing the sent chunks
        // once they are half of the array takes linear time.
        if head * 2 >= chunks.count {
            chunks.removeFirst(head)
            head = 0
        }
    }
}
