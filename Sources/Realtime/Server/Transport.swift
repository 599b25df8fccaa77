import CLibwebsockets
import Glibc

/// Receives the events of a ``Transport``, on the loop's thread. A connection is named by its slot, the number that the
/// caller chose when the transport adopted it.
protocol TransportDelegate: AnyObject {
    /// A socket has bytes, or its peer has ended. Called in each turn until ``Transport/receive(on:_:countMax:)`` is, or
    /// reading is paused.
    func readable(_ slot: Int)
    /// Bytes have arrived. They are valid during the call only, and may be changed in place.
    /// - Returns: whether more of this connection may be received at once; false if receiving is paused.
    func received(_ bytes: UnsafeMutableRawBufferPointer, on slot: Int) -> Bool
    /// A socket that was full accepts bytes again; see ``Transport/wantWritable(_:)``. Call ``Transport/flush(_:slot:)`` before
    /// you send.
    func writable(_ slot: Int)
    /// The peer sends no more: it has closed the connection, the connection was lost, or TLS failed. Called again while
    /// the connection is neither closed nor paused.
    func ended(_ slot: Int)
    /// A connection is closed. This is the last call for the slot.
    func closed(_ slot: Int)
}

/// A loop's sockets: libwebsockets on the loop's libev loop. **The only file that knows libwebsockets.**
///
/// Sockets are adopted in the library's *raw file role*: it tells when a socket is readable or writable, and closes it.
/// Reading is ours because the library closes a connection at once when it reads the peer's FIN, and a close takes long:
/// after thousands of clients have left together, the others would wait for all the closes. HTTP and WebSocket are ours
/// (``HTTP1``, ``WebSocketFraming``), because the library's own HTTP code can be made to spin forever, and its timers slow
/// down every connection. See docs/libwebsockets.md.
///
/// Create and destroy it on the loop's thread. Creating a context is not safe while another context serves, so all are
/// created before the first loop runs.
final class Transport {
    /// A connection of the library.
    typealias Socket = OpaquePointer

    /// The result of ``send(_:on:descriptor:)``.
    enum SendResult: Equatable {
        /// The transport took this many bytes, and the socket accepts more.
        case sent(Int)
        /// The transport took this many bytes, perhaps 0, and the socket is full.
        case full(Int)
        /// The connection is broken. ``TransportDelegate/closed(_:)`` may not be called before ``close(_:)``.
        case failed
    }

    /// The size in bytes of the buffer that all connections of the loop share for receiving. At least a TLS record
    /// (16 KiB).
    static let receiveBytes = 65_536

    /// Linux's POLLRDHUP, which the headers declare only with `_GNU_SOURCE`.
    private static let pollRDHUP: Int16 = 0x2000

    /// Nil until `init` has created it, and while it is created.
    private var context: OpaquePointer?
    private var vhost: OpaquePointer?
    /// Nil for unencrypted connections.
    private let certificates: TLSCertificates?
    /// The TLS connections, by slot. One is created when the first bytes arrive: it needs kilobytes.
    private var tlsConnections: [TLSConnection?] = []
    /// The socket whose callback for writing is on the stack.
    private var writableSocket: Socket?
    /// Sockets that were full again within that callback, after which the library forgets the wish to write.
    private var socketsToRearm: [Socket] = []
    private unowned let delegate: any TransportDelegate
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: receiveBytes, alignment: 16)
    private let protocols: UnsafeMutablePointer<lws_protocols>
    private let name = strdup("fleetwire")

    /// - Parameters:
    ///   - loop: the libev loop. It must outlive the transport.
    ///   - certificates: nil for unencrypted connections. They must outlive the transport.
    ///   - delegate: must outlive the transport.
    /// - Throws: ``StartError`` if libwebsockets cannot create a context.
    init(on loop: OpaquePointer, certificates: TLSCertificates?, delegate: any TransportDelegate) throws(StartError) {
        lws_set_log_level(0, nil)  // Fleetwire logs the relevant events itself
        self.delegate = delegate
        self.certificates = certificates
        protocols = .allocate(capacity: 2)
        protocols.initialize(repeating: lws_protocols(), count: 2)  // the second, empty one ends the list
        protocols[0].name = UnsafePointer(name)
        protocols[0].callback = Self.callback

        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN_SERVER
        info.protocols = UnsafePointer(protocols)
        info.options = clws_libev_option
        info.gid = -1  // keep the process's group and user
        info.uid = -1
        info.user = Unmanaged.passUnretained(self).toOpaque()

        var foreignLoop: UnsafeMutableRawPointer? = UnsafeMutableRawPointer(loop)
        clws_set_no_validity_timers(&info)
        context = withUnsafeMutablePointer(to: &foreignLoop) { loops in
            info.foreign_loops = loops  // libwebsockets reads the array now and does not keep the pointer
            return lws_create_context(&info)
        }
        vhost = context.flatMap { lws_get_vhost_by_name($0, "default") }
        guard vhost != nil else {
            throw StartError(
                "create the libwebsockets context: no libev plug-in, or out of memory. Install libwebsockets-evlib-ev.")
        }
    }

    /// Closes all connections, with ``TransportDelegate/closed(_:)`` for each.
    func shutDown() {
        guard let context else { return }
        self.context = nil
        lws_context_destroy(context)
    }

    deinit {
        shutDown()
        protocols.deallocate()
        buffer.deallocate()
        free(name)
    }

    // MARK: Operations

    /// Takes over an accepted, non-blocking socket, which the transport closes from now on.
    /// - Returns: nil if memory is short; the socket is then closed, and ``TransportDelegate/closed(_:)`` is not called.
    func adopt(_ descriptor: Int32, slot: Int) -> Socket? {
        if let socket = clws_adopt(vhost, descriptor, slot + 1) { return socket }
        Glibc.close(descriptor)  // the library closes only what it adopts as a socket
        return nil
    }

    /// Sends bytes without blocking. After ``SendResult/full(_:)``, call ``wantWritable(_:)``; what is sent next must
    /// begin with the first byte that was not taken.
    func send(_ bytes: UnsafeRawBufferPointer, on slot: Int, descriptor: Int32) -> SendResult {
        guard certificates == nil else { return tlsConnection(slot)?.send(bytes) ?? .failed }
        let sent = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        if sent == bytes.count { return .sent(sent) }
        if sent >= 0 { return .full(sent) }
        return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? .full(0) : .failed
    }

    /// Calls ``TransportDelegate/writable(_:)`` once, as soon as the socket accepts bytes.
    func wantWritable(_ socket: Socket) {
        if socket == writableSocket { socketsToRearm.append(socket) } else { lws_callback_on_writable(socket) }
    }

    /// Stops or resumes receiving. A peer's close is not noticed while receiving is stopped.
    func pauseReading(_ socket: Socket, _ isPaused: Bool) { lws_rx_flow_control(socket, isPaused ? 0 : 1) }

    /// Whether the peer sends no more, or the connection is lost. For connections that are paused.
    func hasPeerEnded(_ descriptor: Int32) -> Bool {
        var watch = pollfd(fd: descriptor, events: Self.pollRDHUP, revents: 0)
        return poll(&watch, 1, 0) == 1
    }

    /// Closes a connection at once and calls ``TransportDelegate/closed(_:)``. Never call it within a call of
    /// ``TransportDelegate``: the library touches the connection afterwards.
    func close(_ socket: Socket) { clws_kill_now(socket) }

    /// Tells the peer that no more bytes follow (TLS's close_notify, and FIN). The peer's bytes can still be received.
    func endSending(on slot: Int, descriptor: Int32) {
        tlsConnection(slot)?.endSending()
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Call it once the library's callbacks of a turn are done.
    func turnEnded() {
        for socket in socketsToRearm { lws_callback_on_writable(socket) }
        socketsToRearm.removeAll(keepingCapacity: true)
    }

    // MARK: Callbacks

    /// The library's callback. Its result is 0, or -1 to make the library close the connection, which is never used: the
    /// event loop closes connections at the end of its turn.
    private static let callback: LibraryCallback = { wsi, reason, _, _, _ in
        guard let wsi, let context = lws_get_context(wsi), let this = lws_context_user(context) else { return 0 }
        let transport = Unmanaged<Transport>.fromOpaque(this)
        transport._withUnsafeGuaranteedRef { $0.handle(reason, wsi) }
        return 0
    }

    private func handle(_ reason: lws_callback_reasons, _ socket: Socket) {
        let slot = clws_opaque(socket) - 1
        switch reason {
        case LWS_CALLBACK_RAW_RX_FILE:
            delegate.readable(slot)
        case LWS_CALLBACK_RAW_WRITEABLE_FILE:
            writableSocket = socket
            delegate.writable(slot)
            writableSocket = nil
        case LWS_CALLBACK_RAW_CLOSE_FILE:
            socketsToRearm.removeAll { $0 == socket }
            if let tls = tlsConnection(slot) {
                tls.endSending()
                tlsConnections[slot] = nil
            }
            delegate.closed(slot)
        default: break
        }
    }

    // MARK: Receiving

    /// Receives what a socket has, and passes it to ``TransportDelegate/received(_:on:)``.
    /// - Parameter countMax: at most so many bytes, and no more than ``receiveBytes``: one that sends fast has no advantage.
    func receive(on slot: Int, _ socket: Socket, countMax: Int) {
        let buffer = UnsafeMutableRawBufferPointer(rebasing: buffer[..<countMax])
        guard certificates != nil else { return receive(slot, lws_get_socket_fd(socket), buffer) }
        guard let tls = tlsConnection(slot) ?? openTLS(slot, socket) else { return delegate.ended(slot) }
        receive(tls, slot, socket, buffer)
    }

    private func receive(_ slot: Int, _ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0 {
            _ = delegate.received(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), on: slot)
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            delegate.ended(slot)
        }
    }

    private func receive(_ tls: TLSConnection, _ slot: Int, _ socket: Socket, _ buffer: UnsafeMutableRawBufferPointer) {
        defer { if tls.flush() == false { wantWritable(socket) } }
        var byteCount = 0
        repeat {
            switch tls.receive(into: buffer) {
            case .bytes(let count):
                guard delegate.received(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), on: slot) else { return }
                byteCount += count
            case .incomplete: return
            case .ended: return delegate.ended(slot)
            }
        } while byteCount < buffer.count && tls.hasUnread
    }

    // MARK: TLS

    /// Whether the next bytes belong to a TLS handshake: its signature takes as long as a hundred requests.
    func isHandshaking(_ slot: Int) -> Bool { certificates != nil && tlsConnection(slot)?.isEstablished != true }

    /// Whether bytes of a connection wait that the kernel does not report, because OpenSSL has read them.
    func hasUnread(_ slot: Int) -> Bool { tlsConnection(slot)?.hasUnread == true }

    /// Sends what TLS has kept because the socket was full, and asks for the next ``TransportDelegate/writable(_:)`` if it
    /// still is.
    /// - Returns: whether ``send(_:on:descriptor:)`` may be called.
    func flush(_ socket: Socket, slot: Int) -> Bool {
        guard let tls = tlsConnection(slot) else { return certificates == nil }
        guard let isFlushed = tls.flush() else {
            delegate.ended(slot)
            return false
        }
        if !isFlushed { wantWritable(socket) }
        return isFlushed && tls.isEstablished
    }

    private func openTLS(_ slot: Int, _ socket: Socket) -> TLSConnection? {
        while tlsConnections.count <= slot { tlsConnections.append(nil) }
        tlsConnections[slot] = certificates?.accept(lws_get_socket_fd(socket))
        return tlsConnections[slot]
    }

    private func tlsConnection(_ slot: Int) -> TLSConnection? { slot < tlsConnections.count ? tlsConnections[slot] : nil }
}

/// A pointer to `lws_callback_function`, which Swift imports as a function type.
private typealias LibraryCallback =
    @convention(c) (
        OpaquePointer?, lws_callback_reasons, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, Int
    ) -> Int32
