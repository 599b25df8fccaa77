import CCurl

/// The free space in the kernel's send buffers of a pool's connections.
///
/// libcurl 7.88 does not handle a full send buffer under HTTP/2: it treats EAGAIN as an error, or sleeps without
/// polling for writability. Then received responses are lost, connections stall until their requests time out, and
/// bodies are cut off. So a pool with such a budget starts a request only if it certainly fits. The budget also sets
/// larger buffers: by default, the kernel gives the connection to a distant server a buffer of some tens of KiB at
/// first, too small for a burst of notifications.
final class SendBufferBudget {
    /// The most that a request occupies in the buffer in addition to its own bytes: the kernel's overhead for the two
    /// or three segments in which the request is written.
    static let overheadBytes = 4_096

    /// Bytes of the requests that were passed to libcurl and are not completely written.
    var reserved = 0
    private let bytesEach: Int?
    /// The expected buffer size of a new connection in bytes: the size that the kernel granted last or, before the
    /// first connection, the smallest size to expect.
    private var granted = 65_536
    /// The pool's sockets. The kernel's cookie identifies a socket even if its descriptor is reused: libcurl closes
    /// some sockets without calling back.
    private var sockets: [(descriptor: Int32, cookie: UInt64)] = []

    /// - Parameter bytesEach: the buffer size to set per connection in bytes, limited by net.core.wmem_max. With nil,
    ///   the kernel chooses the sizes, and there is no budget.
    init(bytesEach: Int?) { self.bytesEach = bytesEach }

    func add(_ socket: Int32) {
        guard let bytesEach else { return }
        ccurl_set_send_buffer(socket, Int32(clamping: bytesEach))
        sockets.append((socket, ccurl_socket_cookie(socket)))
        var (size, used) = (0, 0)
        if ccurl_send_buffer(socket, &size, &used) { granted = min(bytesEach, size) }
    }

    func remove(_ socket: Int32) { sockets.removeAll { $0.descriptor == socket } }

    /// Free bytes in the fullest buffer, at most those of a new connection's buffer. Does not subtract ``reserved``.
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

    /// The part of a buffer that requests may use. A quarter remains for libcurl's own frames, such as those that end
    /// streams.
    private static func share(of size: Int) -> Int { size / 4 * 3 }
}
