import CTLS
import Glibc

/// A non-blocking TCP connection to the gateway, with or without TLS.
final class Link {
    enum Received {
        case bytes(Int)
        /// Nothing more has arrived.
        case nothing
        /// The connection has ended; the text says why.
        case ended(String)
    }

    let socket: Int32
    private let tls: OpaquePointer?
    /// Bytes that the socket did not take, from `unsentStart` on.
    private var unsent: [UInt8] = []
    private var unsentStart = 0
    private var isConnecting = true
    /// Whether the last TLS call waits until the socket is writable.
    private var tlsWantsToWrite = false
    /// Whether the poller reports that the socket is writable.
    private var isWatchedForWriting = true

    /// Begins to connect, and has the poller watch the socket.
    /// - Parameter context: an `SSL_CTX` for TLS; nil for plain TCP.
    /// - Throws: a text if the system has no socket.
    init(to address: GatewayAddress, context: OpaquePointer?, poller: Poller, tag: Int) throws(Failure) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let socket = Glibc.socket(address.family, type, 0)
        guard socket >= 0 else { throw Failure(reason: Poller.problem(errno)) }
        var one: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        let result = address.socketAddress.withUnsafeBytes {
            connect(socket, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        }
        guard result == 0 || errno == EINPROGRESS else {
            let problem = Poller.problem(errno)
            close(socket)
            throw Failure(reason: problem)
        }
        tls = context.flatMap { ctls_new_client($0, socket, address.host) }
        guard context == nil || tls != nil else {
            close(socket)
            throw Failure(reason: "cannot begin TLS")
        }
        self.socket = socket
        poller.add(socket, tag: tag)
    }

    struct Failure: Error { let reason: String }

    deinit {
        if let tls { SSL_free(tls) }
        close(socket)
    }

    /// Sends bytes, or keeps those that the socket does not take.
    func send(_ bytes: [UInt8]) {
        unsent.append(contentsOf: bytes)
        flush()
    }

    /// Sends what is kept. An error shows at the next ``receive(into:)``.
    func flush() {
        guard !isConnecting else { return }
        tlsWantsToWrite = false
        while unsentStart < unsent.count {
            let sent = unsent.withUnsafeBytes { write(UnsafeRawBufferPointer(rebasing: $0[unsentStart...])) }
            guard sent > 0 else { return }
            unsentStart += sent
        }
        unsent.removeAll(keepingCapacity: unsent.count <= 4_096)
        unsentStart = 0
    }

    /// Tells the poller whether anything waits for the socket to be writable.
    func updateWatch(_ poller: Poller, tag: Int) {
        let waits = isConnecting || tlsWantsToWrite || (unsentStart < unsent.count && tls == nil)
        guard waits != isWatchedForWriting else { return }
        poller.watch(socket, tag: tag, isForWriting: waits)
        isWatchedForWriting = waits
    }

    /// Notes that the socket is writable, so that the connection is made.
    /// - Returns: why it is not made; nil if it is.
    func becomeWritable() -> String? {
        if isConnecting {
            var (error, length) = (Int32(0), socklen_t(4))
            getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length)
            guard error == 0 else { return Poller.problem(error) }
            isConnecting = false
        }
        flush()
        return nil
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
        guard !isConnecting else { return .nothing }
        guard let tls else {
            let count = recv(socket, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended("the connection was closed") }
            return errno == EAGAIN || errno == EINTR ? .nothing : .ended(Poller.problem(errno))
        }
        var count = 0
        ERR_clear_error()
        if SSL_read_ex(tls, buffer.baseAddress, buffer.count, &count) == 1 { return .bytes(count) }
        switch SSL_get_error(tls, 0) {
        case SSL_ERROR_WANT_READ:
            // The handshake may be done now, so that what is kept can be sent.
            if SSL_is_init_finished(tls) == 1 { flush() }
            return .nothing
        case SSL_ERROR_WANT_WRITE:
            tlsWantsToWrite = true
            return .nothing
        default: return .ended(String(cString: ctls_problem(tls)))
        }
    }

    /// Whether nothing more has arrived after a call of ``receive(into:)`` that returned so many bytes: the kernel gives all
    /// that it has, but OpenSSL one record.
    func isDrained(by count: Int, of buffer: UnsafeMutableRawBufferPointer) -> Bool { tls == nil && count < buffer.count }

    /// - Returns: the number of bytes that were taken; 0 if none.
    private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let tls else { return max(0, Glibc.send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))) }
        var count = 0
        ERR_clear_error()
        if SSL_write_ex(tls, bytes.baseAddress, bytes.count, &count) == 1 { return count }
        tlsWantsToWrite = SSL_get_error(tls, 0) == SSL_ERROR_WANT_WRITE
        return 0
    }
}
