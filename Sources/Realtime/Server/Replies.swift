import PusherProtocol

/// The responses of a turn, encoded one behind the other, and the connection of each part. Long bodies are not copied: they
/// stand between the parts.
struct Replies {
    /// The buffer is kept for the next turn up to this size, in bytes.
    private static let keptBytesMax = 262_144

    private struct Part {
        let socket: SocketID
        /// Where the part ends in `bytes`.
        let end: Int
        /// A long body that follows.
        var body: [UInt8]?
    }

    private var bytes: [UInt8] = []
    private var parts: [Part] = []
    private var bodyBytes = 0

    /// Appends what `encode` writes for a connection.
    mutating func append(to socket: SocketID, _ encode: (inout [UInt8]) -> Void) {
        encode(&bytes)
        if let last = parts.last, last.socket == socket, last.body == nil { parts.removeLast() }
        parts.append(Part(socket: socket, end: bytes.count))
    }

    /// Appends a long body to what was appended last.
    mutating func append(body: [UInt8]) {
        parts[parts.count - 1].body = body
        bodyBytes += body.count
    }

    var isEmpty: Bool { parts.isEmpty }

    /// The size of the responses in bytes.
    var byteCount: Int { bytes.count + bodyBytes }

    /// Calls `send` for each part, in the order of the parts, with the long body that follows it, if any.
    func forEachPart(_ send: (UnsafeRawBufferPointer, _ body: [UInt8]?, SocketID) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var start = 0
            for part in parts {
                send(UnsafeRawBufferPointer(rebasing: bytes[start..<part.end]), part.body, part.socket)
                start = part.end
            }
        }
    }

    mutating func removeAll() {
        let isKept = bytes.capacity <= Self.keptBytesMax
        bytes.removeAll(keepingCapacity: isKept)
        parts.removeAll(keepingCapacity: isKept)
        bodyBytes = 0
    }
}
