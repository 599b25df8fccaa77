import CTLS

/// The server's side of TLS on a non-blocking socket (RFC 8446, RFC 5246). It belongs to one thread.
///
/// OpenSSL reads ahead: one system call reads several records. The kernel does not report what OpenSSL has read, so a
/// caller goes on while ``hasUnread`` is true.
final class TLSConnection {
    /// The result of ``receive(into:)``.
    enum Received {
        /// The number of decrypted bytes.
        case bytes(Int)
        /// The peer's part of the handshake, or of a record, is incomplete.
        case incomplete
        /// The peer has ended TLS or the connection, or has violated the protocol.
        case ended
    }

    private let ssl: OpaquePointer
    /// Whether the handshake is done. Stays true while keys are updated.
    private(set) var isEstablished = false
    /// Whether ``receive(into:)`` has found all that was there.
    private var isDrained = true

    /// - Parameters:
    ///   - context: an `SSL_CTX`, which must outlive the connection.
    ///   - method: of `ctls_new_socket_method`; must outlive the connection, too.
    init?(_ context: OpaquePointer, _ method: OpaquePointer, _ descriptor: Int32) {
        guard let ssl = ctls_new_connection(context, method, descriptor) else { return nil }
        self.ssl = ssl
    }

    deinit { SSL_free(ssl) }

    /// Whether bytes were read that ``receive(into:)`` has not looked at. They may be a part of a record.
    var hasUnread: Bool { !isDrained && SSL_has_pending(ssl) == 1 }

    /// Goes on with the handshake, and decrypts one TLS record. Call ``flush()`` afterwards: a part of the handshake, or an
    /// update of the keys, may be unsent.
    /// - Parameter buffer: at least 16 KiB, the size of a record.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
        var count = 0
        ERR_clear_error()  // `SSL_get_error` looks at the thread's error queue
        let isRead = SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count) == 1
        if !isEstablished { isEstablished = SSL_is_init_finished(ssl) == 1 }
        isDrained = !isRead
        if isRead { return .bytes(count) }
        switch SSL_get_error(ssl, 0) {
        case SSL_ERROR_WANT_READ: return .incomplete
        case SSL_ERROR_ZERO_RETURN: break
        default: forbidCloseNotify()
        }
        return .ended
    }

    /// Sends what the socket did not take before.
    /// - Returns: whether all is sent; nil if the connection is broken.
    func flush() -> Bool? {
        switch ctls_flush(ssl) {
        case 1: true
        case 0: false
        default: nil
        }
    }

    /// Encrypts bytes and sends them. Keeps at most one encrypted record (16 KiB) that the socket does not take.
    func send(_ bytes: UnsafeRawBufferPointer) -> Transport.SendResult {
        var sent = 0
        while let isFlushed = flush() {
            if !isFlushed { return .full(sent) }
            if sent == bytes.count { return .sent(sent) }
            var count = 0
            ERR_clear_error()
            guard SSL_write_ex(ssl, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, &count) == 1 else {
                forbidCloseNotify()
                return .failed
            }
            sent += count
        }
        return .failed
    }

    /// Sends close_notify. The result is ignored: the peer may be gone.
    func endSending() {
        ERR_clear_error()
        SSL_shutdown(ssl)
    }

    /// Makes ``endSending()`` send nothing: after a fatal error, OpenSSL must not be called to send close_notify.
    private func forbidCloseNotify() { SSL_set_quiet_shutdown(ssl, 1) }
}
