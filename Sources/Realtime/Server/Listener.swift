import Addresses
import CLinux
import Glibc

/// A listening socket. libwebsockets' own listener cannot pass connections to other threads.
package struct Listener: Sendable {
    let descriptor: Int32
    /// The bound address, as text.
    package let host: String
    /// The bound port; if port 0 was requested, the port that the kernel chose.
    package let port: UInt16
    /// Whether a service manager has passed the socket, and keeps it when this process ends: connections that come
    /// meanwhile wait for the next one.
    package let isInherited: Bool

    /// - Parameters:
    ///   - host: a numeric address, or a name whose first resolved address is used.
    ///   - port: 0 for any free port.
    /// - Throws: ``StartError`` if the address cannot be bound.
    package init(host: String, port: UInt16) throws(StartError) {
        let operation = "listen on \(host):\(port)"
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let address = found else {
            throw StartError(operation: operation, code: EADDRNOTAVAIL)
        }
        defer { freeaddrinfo(found) }
        let flags = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.pointee.ai_family, flags, 0)
        guard descriptor >= 0 else { throw StartError(operation: operation, code: errno) }
        Self.set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        Self.setOptionsOfConnections(descriptor)
        // Not SO_REUSEPORT: a second instance on the same port must fail instead of sharing it. The queue of pending
        // connections has 4,096 entries, the kernel's default maximum (net.core.somaxconn).
        guard bind(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0, listen(descriptor, 4096) == 0 else {
            let code = errno
            close(descriptor)
            throw StartError(operation: operation, code: code)
        }
        self.init(descriptor, isInherited: false)
    }

    /// - Parameter descriptor: a listening TCP socket that does not block.
    init(_ descriptor: Int32, isInherited: Bool) {
        self.descriptor = descriptor
        self.isInherited = isInherited
        let address = Self.boundAddress(descriptor)
        host = address.host
        port = address.port
    }

    /// The socket of an accepted connection that no loop has adopted yet.
    package struct AcceptedSocket: Sendable {
        /// The socket's descriptor; the loop that adopts it closes it.
        package let descriptor: Int32
        /// The peer's address.
        package let address: IPAddress
        /// Whether ``SharedAddressLimits`` counts the connection.
        var isCounted = false

        /// Closes the connection.
        func drop() { close(descriptor) }
    }

    enum AcceptResult {
        case accepted(AcceptedSocket)
        /// No connection is pending, or the pending one cannot be accepted, for example because its client has closed
        /// it.
        case wouldBlock
        /// No descriptor or memory is available.
        case exhausted
    }

    /// Accepts the next pending connection.
    func accept() -> AcceptResult {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let descriptor = withUnsafeMutablePointer(to: &address) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                accept4(self.descriptor, $0, &length, Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
            }
        }
        guard descriptor >= 0 else {
            let code = errno
            return [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) ? .exhausted : .wouldBlock
        }
        return .accepted(AcceptedSocket(descriptor: descriptor, address: Self.peer(&address)))
    }

    /// Closes the socket, which frees the port unless a service manager has it, too.
    package func stop() { close(descriptor) }

    private static func peer(_ address: inout sockaddr_storage) -> IPAddress {
        let isIPv4 = Int32(address.ss_family) == AF_INET
        return withUnsafeBytes(of: &address) { bytes in
            // Behind the family and the port, in IPv6 also the flow label. The listener has one of these two families.
            let address = UnsafeRawBufferPointer(rebasing: isIPv4 ? bytes[4..<8] : bytes[8..<24])
            guard let address = IPAddress(networkOrder: address) else { preconditionFailure("an address has 4 or 16 bytes") }
            return address
        }
    }

    private static func boundAddress(_ descriptor: Int32) -> (host: String, port: UInt16) {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutablePointer(to: &address) { storage in
            _ = storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        // The port has the same offset in both families.
        let port = withUnsafeBytes(of: &address) { UInt16($0[2]) << 8 | UInt16($0[3]) }
        return (peer(&address).description, port)
    }

    /// Accepted sockets inherit these two options, so they cost no system calls per connection. SO_SNDBUF is in bytes; the
    /// kernel doubles the value. By default, the kernel would buffer some megabytes per slow consumer before a write blocks.
    static func setOptionsOfConnections(_ descriptor: Int32) {
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        set(descriptor, SOL_SOCKET, SO_SNDBUF, 131_072)
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        // Errors are ignored: the socket also works without the option.
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
