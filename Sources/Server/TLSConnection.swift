import CTLS

/// The server's side of TLS on a non-blocking socket (RFC 8446, RFC 5246). It belongs to one thread.
///
/// OpenSSL reads ahead: one system call reads several records. The kernel does not report what OpenSSL has read, so a
/// caller goes on while ``hasPending`` is true.
final class TLSConnection {
    /// The result of ``receive(into:)``.
    enum Received {
        /// The number of decrypted bytes.
        case bytes(Int)
        /// The peer's part of the handshake, or of a record, is incomplete.
        case incomplete
        /// The handshake cannot go on before the socket accepts bytes. Call ``receive(into:)`` again then.
        case full
        /// The peer has ended TLS or the connection, or has violated the protocol.
        case ended
    }

    private let ssl: OpaquePointer
    /// Whether the handshake is done. Stays true while keys are updated.
    private(set) var isEstablished = false
    /// Whether ``Transport`` receives from the connection at the end of the turn.
    var isWaiting = false
    /// Whether the event loop has paused receiving.
    var isPaused = false

    /// - Parameter context: an `SSL_CTX`, which must outlive the connection.
    init?(_ context: OpaquePointer, _ descriptor: Int32) {
        guard let ssl = SSL_new(context) else { return nil }
        guard SSL_set_fd(ssl, descriptor) == 1 else {
            SSL_free(ssl)
            return nil
        }
        SSL_set_accept_state(ssl)
        self.ssl = ssl
    }

    deinit { SSL_free(ssl) }

    /// Whether bytes were read that ``receive(into:)`` has not looked at. They may be a part of a record.
    var hasPending: Bool { SSL_has_pending(ssl) == 1 }

    /// Whether OpenSSL has something to send of its own, such as a part of the handshake, and the socket was full.
    var waitsToSend: Bool { SSL_want(ssl) == SSL_WRITING }

    /// Goes on with the handshake, and decrypts at most one TLS record.
    /// - Parameter buffer: at least 16 KiB, the size of a record.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
        var count = 0
        ERR_clear_error()  // `SSL_get_error` looks at the thread's error queue
        let isRead = SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count) == 1
        if !isEstablished { isEstablished = SSL_is_init_finished(ssl) == 1 }
        if isRead { return .bytes(count) }
        switch SSL_get_error(ssl, 0) {
        case SSL_ERROR_WANT_READ: return .incomplete
        case SSL_ERROR_WANT_WRITE: return .full
        case SSL_ERROR_ZERO_RETURN: break
        default: forbidCloseNotify()
        }
        return .ended
    }

    /// Encrypts bytes and sends them. After ``Transport/SendResult/full(_:)``, the next call must begin with the first
    /// byte that was not taken.
    func send(_ bytes: UnsafeRawBufferPointer) -> Transport.SendResult {
        var sent = 0
        while sent < bytes.count {  // OpenSSL takes one TLS record, at most 16 KiB, at a time
            var count = 0
            ERR_clear_error()
            guard SSL_write_ex(ssl, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, &count) == 1 else {
                let error = SSL_get_error(ssl, 0)
                if error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ { return .full(sent) }
                forbidCloseNotify()
                return .failed
            }
            sent += count
        }
        return .sent(sent)
    }

    /// Sends close_notify. The result is ignored: the peer may be gone.
    func endSending() {
        ERR_clear_error()
        SSL_shutdown(ssl)
    }

    /// Makes ``endSending()`` send nothing: after a fatal error, OpenSSL must not be called to send close_notify.
    private func forbidCloseNotify() { SSL_set_quiet_shutdown(ssl, 1) }
}
