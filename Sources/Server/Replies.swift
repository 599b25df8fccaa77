import PusherProtocol

/// The responses of a turn, encoded one behind the other, and the connection of each part.
struct Replies {
    /// The encoded responses. Append to it, then call ``endPart(of:)``.
    var bytes: [UInt8] = []
    private var parts: [(socket: SocketID, end: Int)] = []

    /// Assigns what was appended since the last call to a connection.
    mutating func endPart(of socket: SocketID) {
        if bytes.count > parts.last?.end ?? 0 { parts.append((socket, bytes.count)) }
    }

    var isEmpty: Bool { parts.isEmpty }

    /// Calls `send` for each part, in the order of the parts.
    func forEachPart(_ send: (UnsafeRawBufferPointer, SocketID) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var start = 0
            for (socket, end) in parts {
                send(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), socket)
                start = end
            }
        }
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        parts.removeAll(keepingCapacity: true)
    }
}
