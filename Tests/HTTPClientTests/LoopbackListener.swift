import Glibc

/// A socket that listens on a free port of 127.0.0.1.
struct LoopbackListener {
    let descriptor: Int32
    let port: Int

    /// - Parameter isNonBlocking: whether `accept` fails with EAGAIN instead of waiting for a connection.
    init(isNonBlocking: Bool) {
        let flags = isNonBlocking ? Int32(SOCK_NONBLOCK.rawValue) : 0
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | flags, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 100) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        precondition(isListening, "LoopbackListener cannot listen on 127.0.0.1: errno \(errno)")
        self.descriptor = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// Closes the socket. Connections that were already accepted stay open.
    func stop() { close(descriptor) }
}
