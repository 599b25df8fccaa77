import PusherProtocol

/// The responses of a turn, encoded one behind the other, and the connection of each part.
struct Replies {
    private var bytes: [UInt8] = []
    private var parts: [(socket: SocketID, end: Int)] = []

    /// Appends what `encode` writes for a connection.
    mutating func append(to socket: SocketID, _ encode: (inout [UInt8]) -> Void) {
        encode(&bytes)
        if parts.last?.socket == socket { parts.removeLast() }
        parts.append((socket, bytes.count))
    }

    var isEmpty: Bool { parts.isEmpty }

    /// The size of the encoded responses in bytes.
    var byteCount: Int { bytes.count }

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
