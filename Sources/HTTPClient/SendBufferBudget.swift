import CCurl

/// The free space in the kernel's send buffers of a pool's connections.
///
/// libcurl 7.88 does not handle a full send buffer under HTTP/2: it treats EAGAIN as an error, or sleeps without
/// polling for writability. Received responses are lost, connections stall until their requests time out, and bodies
/// are cut off. So a pool with such a budget starts only requests that surely fit. It also asks for larger buffers: a
/// distant connection takes some tens of KiB at once while the kernel sizes its buffer, less than the notifications of
/// a burst.
final class SendBufferBudget {
    /// Bytes that a request occupies in the buffer beyond its own, at most: the kernel's overhead for the two or three
    /// segments in which it is written.
    static let overheadBytes = 4_096

    /// Bytes of requests that libcurl has and has not completely written.
    var reserved = 0
    private let bytesEach: Int?
    /// Bytes of a new connection's buffer: as granted last; before the first connection, the smallest size to expect.
    private var granted = 65_536
    /// With the kernel's cookie of each socket: libcurl closes some without a callback, and their descriptors are
    /// reused.
    private var sockets: [(descriptor: Int32, cookie: UInt64)] = []

    /// - Parameter bytesEach: buffer size of a connection, limited by net.core.wmem_max; nil: the kernel's own sizing,
    ///   and no budget.
    init(bytesEach: Int?) { self.bytesEach = bytesEach }

    func add(_ socket: Int32) {
        guard let bytesEach else { return }
        ccurl_set_send_buffer(socket, Int32(clamping: bytesEach))
        sockets.append((socket, ccurl_socket_cookie(socket)))
        var (size, used) = (0, 0)
        if ccurl_send_buffer(socket, &size, &used) { granted = min(bytesEach, size) }
    }

    func remove(_ socket: Int32) { sockets.removeAll { $0.descriptor == socket } }

    /// Free bytes in the fullest buffer; `reserved` is not subtracted.
    func room() -> Int {
        guard bytesEach != nil else { return .max }
        sockets.removeAll { ccurl_socket_cookie($0.descriptor) != $0.cookie }
        var room = Self.share(of: granted)
        for socket in sockets {
            var (size, used) = (0, 0)
            if ccurl_send_buffer(socket.descriptor, &size, &used) { room = min(room, Self.share(of: size) - used) }
        }
        return room
    }

    /// A quarter is left for libcurl's own frames, such as those that end streams.
    private static func share(of size: Int) -> Int { size / 4 * 3 }
}
