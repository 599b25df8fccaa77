import CLibwebsockets
import Glibc

/// Receives the events of a ``Transport``, on the loop's thread. A connection is named by its slot, the number that the
/// caller chose when the transport adopted it.
protocol TransportDelegate: AnyObject {
    /// Bytes have arrived. They are valid during the call only, and may be changed in place.
    func received(_ bytes: UnsafeMutableRawBufferPointer, on slot: Int)
    /// A socket that was full accepts bytes again; see ``Transport/wantWritable(_:)``.
    func writable(_ slot: Int)
    /// A connection is gone: the peer has closed it or it was lost, ``Transport/close(_:)`` was called, or its TLS
    /// handshake failed. This is the last call for the slot.
    func closed(_ slot: Int)
}

/// A loop's sockets: libwebsockets on the loop's libev loop. **The only file that knows libwebsockets.**
///
/// Sockets are adopted in the library's *raw role*: it receives and hands over bytes, does TLS, and interprets nothing.
/// HTTP and WebSocket are ours (``HTTP1``, ``WebSocketFraming``), because the library's own HTTP code can be made to spin
/// forever, and its timers slow down every connection; see docs/libwebsockets.md.
///
/// Create and destroy it on the loop's thread. Creating a context is not safe while another context serves, so all are
/// created before the first loop runs.
final class Transport {
    /// A connection of the library.
    typealias Socket = OpaquePointer

    /// The result of ``send(_:to:)``.
    enum SendResult: Equatable {
        /// The transport took this many bytes, and the socket accepts more.
        case sent(Int)
        /// The transport took this many bytes, perhaps 0, and the socket is full.
        case full(Int)
        /// The connection is broken. ``TransportDelegate/closed(_:)`` may not be called before ``close(_:)``.
        case failed
    }

    /// The size in bytes of the buffer that all connections of the loop share for receiving. Larger than a TLS record
    /// (16 KiB): libwebsockets would put a connection whose record fills the buffer on a list that it serves slowly.
    private static let receiveBytes: UInt32 = 65_536
    /// Bytes given to TLS at once. libwebsockets keeps what the socket does not accept, without a limit.
    private static let tlsSliceBytes = 65_536
    /// The library's own time limit for a client that is silent after its TLS handshake: longer than the event loop's
    /// (``Deadlines``), which so is the one that counts.
    private static let libraryTimeoutSeconds = 60

    private let context: OpaquePointer
    private let vhost: OpaquePointer
    private let usesTLS: Bool
    private unowned let delegate: any TransportDelegate
    private let protocols: UnsafeMutablePointer<lws_protocols>
    /// The strings to which the context's options point.
    private let strings: [UnsafeMutablePointer<CChar>]

    /// - Parameters:
    ///   - loop: the libev loop. It must outlive the transport.
    ///   - tls: nil for unencrypted connections.
    ///   - delegate: must outlive the transport.
    /// - Throws: ``StartError`` if the certificate or key is unusable, or libwebsockets cannot create a context.
    init(on loop: OpaquePointer, tls: TLSFiles?, delegate: any TransportDelegate) throws(StartError) {
        lws_set_log_level(0, nil)  // Fleetwire logs the relevant events itself
        self.delegate = delegate
        usesTLS = tls != nil
        let name = Self.cString("fleetwire")
        protocols = .allocate(capacity: 2)
        protocols.initialize(repeating: lws_protocols(), count: 2)  // the second, empty one ends the list
        protocols[0].name = UnsafePointer(name)
        protocols[0].callback = Self.callback
        let user = UnsafeMutablePointer<Unowned>.allocate(capacity: 1)
        user.initialize(to: Unowned())
        self.user = user

        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN_SERVER
        info.protocols = UnsafePointer(protocols)
        info.options = clws_libev_option
        info.user = UnsafeMutableRawPointer(user)
        info.pt_serv_buf_size = Self.receiveBytes
        info.gid = -1  // keep the process's group and user
        info.uid = -1
        var strings = [name]
        if let tls {
            // Only HTTP/1.1 is spoken here; by default the library would also offer HTTP/2.
            strings += [Self.cString(tls.certificate), Self.cString(tls.key), Self.cString("http/1.1")]
            info.options |= clws_tls_option
            info.ssl_cert_filepath = UnsafePointer(strings[1])
            info.ssl_private_key_filepath = UnsafePointer(strings[2])
            info.alpn = UnsafePointer(strings[3])
            info.ssl_options_set = clws_no_old_tls
            // The timers from the end of a handshake to the first bytes, which no callback allows to cancel earlier. By
            // default (20 s and 5 s) the library would end a connection before the event loop's own deadline.
            info.timeout_secs = UInt32(Self.libraryTimeoutSeconds)
            info.keepalive_timeout = Int32(Self.libraryTimeoutSeconds)
        }
        self.strings = strings

        var foreignLoop: UnsafeMutableRawPointer? = UnsafeMutableRawPointer(loop)
        clws_set_no_validity_timers(&info)
        let created: OpaquePointer? = withUnsafeMutablePointer(to: &foreignLoop) { loops in
            info.foreign_loops = loops  // libwebsockets reads the array now and does not keep the pointer
            return lws_create_context(&info)
        }
        guard let created, let vhost = lws_get_vhost_by_name(created, "default") else {
            throw tls.map { StartError(unusable: $0) }
                ?? StartError(
                    "create the libwebsockets context: no libev plug-in, or out of memory. Install libwebsockets-evlib-ev.")
        }
        context = created
        self.vhost = vhost
        user.pointee.transport = self
    }

    /// The context's user pointer: the callbacks' way to the transport.
    private struct Unowned {
        unowned(unsafe) var transport: Transport?
    }

    private let user: UnsafeMutablePointer<Unowned>

    /// Closes all connections, with ``TransportDelegate/closed(_:)`` for each.
    func shutDown() {
        guard !isShutDown else { return }
        isShutDown = true
        lws_context_destroy(context)
    }

    private var isShutDown = false

    deinit {
        shutDown()
        user.deallocate()
        protocols.deallocate()
        for string in strings { string.deallocate() }
    }

    // MARK: The five operations

    /// Takes over an accepted socket, which the transport closes from now on.
    /// - Returns: nil if the socket was closed at once, because TLS failed or memory is short.
    ///   ``TransportDelegate/closed(_:)`` may or may not have been called for the slot.
    func adopt(_ descriptor: Int32, slot: Int) -> Socket? {
        // The timer that libwebsockets sets for a TLS handshake is cancelled: it would close the connection 20 s later,
        // and it lies in a list that every insertion walks. The event loop has its own deadlines.
        clws_adopt(vhost, descriptor, usesTLS ? 1 : 0, slot + 1)
    }

    /// Sends bytes without blocking.
    ///
    /// A plain socket is written directly: in the raw role the library never writes by itself. TLS goes through the
    /// library, which keeps what the socket does not accept. After ``SendResult/full(_:)``, call ``wantWritable(_:)``,
    /// and pause reading if ``pausesReadingWhenFull``.
    func send(_ bytes: UnsafeRawBufferPointer, to socket: Socket, descriptor: Int32) -> SendResult {
        usesTLS ? sendEncrypted(bytes, socket) : Self.sendPlain(bytes, descriptor)
    }

    /// Whether reading must be paused while a socket is full. While libwebsockets holds unsent bytes, it does not read,
    /// so its loop would spin if the peer sent anything.
    var pausesReadingWhenFull: Bool { usesTLS }

    /// Calls ``TransportDelegate/writable(_:)`` once, as soon as the socket accepts bytes.
    func wantWritable(_ socket: Socket) { lws_callback_on_writable(socket) }

    /// Stops or resumes receiving. A peer's close is not noticed while receiving is stopped.
    func pauseReading(_ socket: Socket, _ isPaused: Bool) { lws_rx_flow_control(socket, isPaused ? 0 : 1) }

    /// Closes a connection at once and calls ``TransportDelegate/closed(_:)``. Never call it within a call of
    /// ``TransportDelegate``: the library touches the connection afterwards.
    func close(_ socket: Socket) { clws_kill_now(socket) }

    /// Tells the peer that no more bytes follow (TLS's close_notify, and FIN). The peer's bytes can still be received.
    func endSending(_ socket: Socket, descriptor: Int32) {
        clws_end_tls(socket)
        shutdown(descriptor, Int32(SHUT_WR))
    }

    private static func sendPlain(_ bytes: UnsafeRawBufferPointer, _ descriptor: Int32) -> SendResult {
        let sent = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        if sent == bytes.count { return .sent(sent) }
        if sent >= 0 { return .full(sent) }
        return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? .full(0) : .failed
    }

    private func sendEncrypted(_ bytes: UnsafeRawBufferPointer, _ socket: Socket) -> SendResult {
        guard lws_partial_buffered(socket) == 0 else { return .full(0) }
        var sent = 0
        while sent < bytes.count {
            let count = min(bytes.count - sent, Self.tlsSliceBytes)
            guard clws_write_raw(socket, bytes.baseAddress?.advanced(by: sent), count) >= 0 else { return .failed }
            sent += count
            if lws_partial_buffered(socket) != 0 { return .full(sent) }
        }
        return .sent(sent)
    }

    // MARK: Callbacks

    /// The library's callback. Its result is 0, or -1 to make the library close the connection, which is never used: the
    /// event loop closes connections at the end of its turn.
    private static let callback: LibraryCallback = { wsi, reason, _, bytes, count in
        guard let wsi, let context = lws_get_context(wsi), let user = lws_context_user(context) else { return 0 }
        user.assumingMemoryBound(to: Unowned.self).pointee.transport?.handle(reason, wsi, bytes, count)
        return 0
    }

    private func handle(_ reason: lws_callback_reasons, _ socket: Socket, _ bytes: UnsafeMutableRawPointer?, _ count: Int) {
        let slot = clws_opaque(socket) - 1
        switch reason {
        case LWS_CALLBACK_RAW_RX:
            // The library sets a timer at the end of a TLS handshake and never cancels it.
            if usesTLS { clws_cancel_timeout(socket) }
            delegate.received(UnsafeMutableRawBufferPointer(start: bytes, count: count), on: slot)
        case LWS_CALLBACK_RAW_WRITEABLE: delegate.writable(slot)
        case LWS_CALLBACK_RAW_CLOSE: delegate.closed(slot)
        default: break
        }
    }

    /// A copy of `string` with a terminating zero. `deinit` deallocates it.
    private static func cString(_ string: String) -> UnsafeMutablePointer<CChar> {
        let bytes = Array(string.utf8CString)
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        copy.initialize(from: bytes, count: bytes.count)
        return copy
    }
}

/// A pointer to `lws_callback_function`, which Swift imports as a function type.
private typealias LibraryCallback =
    @convention(c) (
        OpaquePointer?, lws_callback_reasons, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, Int
    ) -> Int32
