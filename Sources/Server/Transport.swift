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
    /// The library's own time limit for a client that is silent after its TLS handshake: longer than the event loop's
    /// (``Deadlines``), which so is the one that counts.
    private static let libraryTimeoutSeconds = 60

    /// Nil until `init` has created it, and while it is created.
    private var context: OpaquePointer?
    private var vhost: OpaquePointer?
    /// Nil for unencrypted connections.
    private let certificates: TLSCertificates?
    /// The `SSL_CTX` that the library has created; nil for unencrypted connections.
    private var tlsContext: OpaquePointer?
    private unowned let delegate: any TransportDelegate
    private let protocols: UnsafeMutablePointer<lws_protocols>
    /// The strings to which the context's options point.
    private let strings: [UnsafeMutablePointer<CChar>]

    /// - Parameters:
    ///   - loop: the libev loop. It must outlive the transport.
    ///   - certificates: nil for unencrypted connections.
    ///   - delegate: must outlive the transport.
    /// - Throws: ``StartError`` if libwebsockets cannot create a context.
    init(on loop: OpaquePointer, certificates: TLSCertificates?, delegate: any TransportDelegate) throws(StartError) {
        lws_set_log_level(0, nil)  // Fleetwire logs the relevant events itself
        self.delegate = delegate
        self.certificates = certificates
        let name = Self.cString("fleetwire")
        protocols = .allocate(capacity: 2)
        protocols.initialize(repeating: lws_protocols(), count: 2)  // the second, empty one ends the list
        protocols[0].name = UnsafePointer(name)
        protocols[0].callback = Self.callback

        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN_SERVER
        info.protocols = UnsafePointer(protocols)
        info.options = clws_libev_option
        info.pt_serv_buf_size = Self.receiveBytes
        info.gid = -1  // keep the process's group and user
        info.uid = -1
        var strings = [name]
        if let files = certificates?.first {
            // The library needs a certificate to use TLS; `TLSCertificates` chooses the one of each connection.
            strings += [Self.cString(files.certificate), Self.cString(files.key)]
            info.options |= clws_tls_option
            info.ssl_cert_filepath = UnsafePointer(strings[1])
            info.ssl_private_key_filepath = UnsafePointer(strings[2])
            info.ssl_options_set = clws_no_old_tls
            // The timers from the end of a handshake to the first bytes, which no callback allows to cancel earlier. By
            // default (20 s and 5 s) the library would end a connection before the event loop's own deadline.
            info.timeout_secs = UInt32(Self.libraryTimeoutSeconds)
            info.keepalive_timeout = Int32(Self.libraryTimeoutSeconds)
        }
        self.strings = strings
        info.user = Unmanaged.passUnretained(self).toOpaque()

        var foreignLoop: UnsafeMutableRawPointer? = UnsafeMutableRawPointer(loop)
        clws_set_no_validity_timers(&info)
        context = withUnsafeMutablePointer(to: &foreignLoop) { loops in
            info.foreign_loops = loops  // libwebsockets reads the array now and does not keep the pointer
            return lws_create_context(&info)
        }
        // Not earlier: the library makes settings of its own until here.
        if let certificates, let tlsContext { certificates.prepare(tlsContext) }
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
        for string in strings { string.deallocate() }
    }

    // MARK: The five operations

    /// Takes over an accepted socket, which the transport closes from now on.
    /// - Returns: nil if the socket was closed at once, because TLS failed or memory is short.
    ///   ``TransportDelegate/closed(_:)`` may or may not have been called for the slot.
    func adopt(_ descriptor: Int32, slot: Int) -> Socket? {
        // The timer that libwebsockets sets for a TLS handshake is cancelled: it would close the connection 20 s later,
        // and it lies in a list that every insertion walks. The event loop has its own deadlines.
        clws_adopt(vhost, descriptor, certificates == nil ? 0 : 1, slot + 1)
    }

    /// Sends bytes without blocking.
    ///
    /// The socket or OpenSSL is written to directly: in the raw role the library never writes by itself, and of what it is
    /// given to write, it keeps what the socket does not accept, without a limit. After ``SendResult/full(_:)``, call
    /// ``wantWritable(_:)``; what is sent next must begin with the first byte that was not taken.
    func send(_ bytes: UnsafeRawBufferPointer, to socket: Socket, descriptor: Int32) -> SendResult {
        certificates == nil ? Self.sendPlain(bytes, descriptor) : Self.sendEncrypted(bytes, socket)
    }

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

    private static func sendEncrypted(_ bytes: UnsafeRawBufferPointer, _ socket: Socket) -> SendResult {
        var sent = 0
        while sent < bytes.count {  // OpenSSL takes one TLS record, at most 16 KiB, at a time
            let count = clws_send_tls(socket, bytes.baseAddress?.advanced(by: sent), bytes.count - sent)
            guard count > 0 else { return count == 0 ? .full(sent) : .failed }
            sent += count
        }
        return .sent(sent)
    }

    // MARK: Callbacks

    /// The library's callback. Its result is 0, or -1 to make the library close the connection, which is never used: the
    /// event loop closes connections at the end of its turn.
    private static let callback: LibraryCallback = { wsi, reason, argument, bytes, count in
        guard let wsi, let context = lws_get_context(wsi), let this = lws_context_user(context) else { return 0 }
        let transport = Unmanaged<Transport>.fromOpaque(this)
        transport._withUnsafeGuaranteedRef { $0.handle(reason, wsi, argument, bytes, count) }
        return 0
    }

    private func handle(
        _ reason: lws_callback_reasons, _ socket: Socket, _ argument: UnsafeMutableRawPointer?, _ bytes: UnsafeMutableRawPointer?,
        _ count: Int
    ) {
        let slot = clws_opaque(socket) - 1
        switch reason {
        case LWS_CALLBACK_RAW_RX:
            // The library sets a timer at the end of a TLS handshake and never cancels it.
            if certificates != nil { clws_cancel_timeout(socket) }
            delegate.received(UnsafeMutableRawBufferPointer(start: bytes, count: count), on: slot)
        case LWS_CALLBACK_RAW_WRITEABLE: delegate.writable(slot)
        case LWS_CALLBACK_RAW_CLOSE: delegate.closed(slot)
        case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:  // once, when the context is created
            tlsContext = OpaquePointer(argument)
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
