import CLibev
import CLibwebsockets

/// A libwebsockets context on one libev loop, without a listening socket. Owns all memory that the library points to.
///
/// Create and destroy it on the loop's thread. Creating a context is not safe while another context serves, so all are
/// created before the first loop runs.
struct LibwebsocketsContext: ~Copyable {
    /// The largest total of a request's headers in bytes. libwebsockets rejects a request with more.
    static let headerBytesMax: UInt16 = 16_384
    /// The size of a receive chunk in bytes. Each connection, even an idle one, has a buffer of this size,
    /// so the size is small.
    private static let receiveBytes = 512
    /// The largest piece in bytes that libwebsockets writes with one system call. By default, libwebsockets splits
    /// writes into pieces of `receiveBytes`.
    private static let writeBytesMax = 1_048_576

    let handle: OpaquePointer
    let vhost: OpaquePointer
    private let protocols: UnsafeMutablePointer<lws_protocols>
    /// The strings to which the context's options point.
    private let strings: [UnsafeMutablePointer<CChar>]
    private let heartbeat: UnsafeMutablePointer<Heartbeat>

    /// A timer that fires every second and bounds the delay of libwebsockets' timeouts. libwebsockets sets its libev
    /// timer to the timeout that is next at that moment, and does not set it again if an earlier timeout is added
    /// later. Without the heartbeat, the earlier timeout would fire only with the later one. With it, timeouts are at
    /// most a second late.
    private struct Heartbeat {
        static let microseconds: lws_usec_t = 1_000_000

        var timer = lws_sorted_usec_list_t()  // the first field: `callback` gets its address, which is also the struct's
        let context: OpaquePointer

        static let callback: sul_cb_t = { timer in
            guard let timer else { return }
            timer.withMemoryRebound(to: Heartbeat.self, capacity: 1) { start($0) }
        }

        static func start(_ heartbeat: UnsafeMutablePointer<Heartbeat>) {
            let context = heartbeat.pointee.context
            heartbeat.withMemoryRebound(to: lws_sorted_usec_list_t.self, capacity: 1) { timer in
                lws_sul_schedule(context, 0, timer, callback, microseconds)
            }
        }
    }

    /// - Parameters:
    ///   - tls: nil for unencrypted connections.
    ///   - user: the pointer that `lws_context_user` returns to callbacks.
    /// - Throws: ``StartError`` if the certificate or key is unusable, or libwebsockets cannot create a context.
    init(
        on loop: OpaquePointer, tls: TLSFiles?, callback: @escaping LibraryCallback, user: UnsafeMutableRawPointer
    ) throws(StartError) {
        lws_set_log_level(0, nil)  // Fleetwire logs the relevant events itself
        let name = Self.cString("fleetwire")
        protocols = .allocate(capacity: 2)
        protocols.initialize(repeating: lws_protocols(), count: 2)  // the second, empty one ends the list
        protocols[0].name = UnsafePointer(name)
        protocols[0].callback = callback
        protocols[0].rx_buffer_size = Self.receiveBytes
        protocols[0].tx_packet_size = Self.writeBytesMax

        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN_SERVER
        info.protocols = UnsafePointer(protocols)
        info.options = clws_server_options
        info.user = user
        info.max_http_header_data2 = UInt32(Self.headerBytesMax)
        info.pt_serv_buf_size = 16_384  // bytes of the buffer that all connections of the context share
        info.keepalive_timeout = 75  // seconds that an HTTP connection may be idle between two requests
        info.timeout_secs = 20  // seconds for each exchange with the client, such as a TLS handshake
        info.gid = -1  // keep the process's group and user
        info.uid = -1
        var strings = [name]
        if let tls {
            // HTTP/1.1 only: libwebsockets would also offer HTTP/2, over which raw WebSocket writes do not work.
            strings += [Self.cString(tls.certificate), Self.cString(tls.key), Self.cString("http/1.1")]
            info.options |= clws_tls_option
            info.ssl_cert_filepath = UnsafePointer(strings[1])
            info.ssl_private_key_filepath = UnsafePointer(strings[2])
            info.alpn = UnsafePointer(strings[3])
            info.ssl_options_set = clws_no_old_tls
        }
        self.strings = strings

        var foreignLoop: UnsafeMutableRawPointer? = UnsafeMutableRawPointer(loop)
        clws_set_no_validity_timers(&info)  // libwebsockets sends no pings of its own
        let created: OpaquePointer? = withUnsafeMutablePointer(to: &foreignLoop) { loops in
            info.foreign_loops = loops  // libwebsockets reads the array now and does not keep the pointer
            return lws_create_context(&info)
        }
        guard let created, let vhost = lws_get_vhost_by_name(created, "default") else {
            throw tls.map { StartError(unusable: $0) }
                ?? StartError(
                    "create the libwebsockets context: no libev plug-in, or out of memory. Install libwebsockets-evlib-ev.")
        }
        handle = created
        heartbeat = .allocate(capacity: 1)
        heartbeat.initialize(to: Heartbeat(context: created))
        Heartbeat.start(heartbeat)
        self.vhost = vhost
    }

    deinit {
        heartbeat.withMemoryRebound(to: lws_sorted_usec_list_t.self, capacity: 1) { timer in
            lws_sul_schedule(handle, 0, timer, nil, lws_usec_t(LWS_SET_TIMER_USEC_CANCEL))
        }
        lws_context_destroy(handle)
        heartbeat.deallocate()
        protocols.deallocate()
        for string in strings { string.deallocate() }
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
typealias LibraryCallback =
    @convention(c) (
        OpaquePointer?, lws_callback_reasons, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, Int
    ) -> Int32
