import CCurl

/// The kernel's send buffers of a pool's connections, and how much more may be written into them.
///
/// libcurl 7.88 does not survive a full one under HTTP/2: it takes "try again" for an error, or sleeps without asking when it may
/// go on. Answers that have come are lost with it, connections stand still until they are given up, and bodies are cut. So where
/// it matters the pool begins only what surely fits. And a connection to somewhere far takes some tens of KiB at once as long as
/// its buffer is left to grow by itself, less than a crowd's notifications: so a larger one is asked for.
final class SendBufferBudget {
    /// What the kernel keeps besides a request's bytes, and more: for each of the two or three pieces that it is written in.
    static let overheadBytes = 4_096

    /// Bytes of requests that libcurl has been given and has not written to their end.
    var reserved = 0
    private let bytesEach: Int?
    /// Bytes of a buffer as far as is known; of one that is yet to be made, as few as any system gives.
    private var granted = 65_536
    /// With the kernel's own number of each: libcurl closes some without a word, and their descriptors become others'.
    private var sockets: [(descriptor: Int32, cookie: UInt64)] = []

    /// - Parameter bytesEach: of a connection, as far as the kernel allows (net.core.wmem_max); nil: they grow by themselves, and
    ///   nobody looks after them.
    init(bytesEach: Int?) { self.bytesEach = bytesEach }

    func add(_ socket: Int32) {
        guard let bytesEach else { return }
        ccurl_set_send_buffer(socket, Int32(clamping: bytesEach))
        sockets.append((socket, ccurl_socket_cookie(socket)))
        var (size, used) = (0, 0)
        if ccurl_send_buffer(socket, &size, &used) { granted = min(bytesEach, size) }
    }

    func remove(_ socket: Int32) { sockets.removeAll { $0.descriptor == socket } }

    /// How many more bytes every connection takes at present, what is promised not counted.
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

    /// A quarter is for what libcurl has to say by itself, such as the ends of streams.
    private static func share(of size: Int) -> Int { size / 4 * 3 }
}
