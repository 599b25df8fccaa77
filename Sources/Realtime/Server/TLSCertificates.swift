import CTLS
import Glibc
import Observability
import Threads

/// Paths of a certificate chain and its private key, both PEM.
public struct TLSFiles: Equatable, Sendable {
    /// The path of the certificate chain, leaf first.
    public var certificate: String
    /// The path of the private key, without a passphrase.
    public var key: String

    public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// The certificates of the TLS listener. Each handshake gets the first one that is valid for the host name that the
/// client asks for (SNI), otherwise the first of all.
///
/// All loops share them, and any thread may replace them: open connections keep theirs, new ones get the new ones.
package final class TLSCertificates: Sendable {
    /// A loaded certificate with its key.
    private final class Certificate: Sendable {
        let files: TLSFiles
        /// An `SSL_CTX` that only contains the certificate, its chain and key, and does not change, so that threads may
        /// share it. An integer because pointers are not Sendable.
        private let address: UInt

        init(_ files: TLSFiles) throws(StartError) {
            self.files = files
            var problem: UnsafePointer<CChar>?
            guard let loaded = ctls_load_certificate(files.certificate, files.key, &problem) else {
                throw StartError(unusable: files, problem.map { String(cString: $0) } ?? "unknown reason")
            }
            address = UInt(bitPattern: loaded)
        }

        deinit { SSL_CTX_free(pointer) }

        // Not nil: it was a pointer.
        var pointer: OpaquePointer { OpaquePointer(bitPattern: address)! }
    }

    private let loaded: Lock<[Certificate]>
    private let ticketKeys: Lock<TicketKeys>
    private let now: @Sendable () -> UInt64
    /// The `SSL_CTX` of all connections. OpenSSL allows threads to share it. An integer because pointers are not
    /// Sendable.
    private let contextAddress: UInt
    /// The methods of all connections' BIOs, as an integer like the context.
    private let methodAddress: UInt

    /// - Parameters:
    ///   - files: at least one pair.
    ///   - now: nanoseconds since an arbitrary moment, for the age of the keys of tickets.
    /// - Throws: ``StartError`` if a file is unusable, or a key does not belong to its certificate.
    package init(
        _ files: [TLSFiles], now: @escaping @Sendable () -> UInt64 = Clock.monotonicNanoseconds
    ) throws(StartError) {
        precondition(!files.isEmpty, "a TLS listener without a certificate")
        loaded = Lock(try Self.load(files))
        ticketKeys = Lock(TicketKeys(at: now()))
        self.now = now
        guard let context = ctls_new_context(), let method = ctls_new_socket_method() else {
            throw StartError("create the TLS context: out of memory")
        }
        contextAddress = UInt(bitPattern: context)
        methodAddress = UInt(bitPattern: method)
        let this = Unmanaged.passUnretained(self).toOpaque()
        SSL_CTX_set_cert_cb(context, Self.chooseCallback, this)
        SSL_CTX_set_ex_data(context, Self.ownIndex, this)
        SSL_CTX_set_tlsext_ticket_key_evp_cb(context, Self.ticketCallback)
    }

    deinit {
        SSL_CTX_free(context)
        BIO_meth_free(method)
    }

    /// Replaces the certificates.
    /// - Parameter files: at least one pair.
    /// - Throws: ``StartError``. The certificates in use then stay in use.
    package func replace(with files: [TLSFiles]) throws(StartError) {
        let new = try Self.load(files)
        loaded.withLock { $0 = new }
    }

    package var family: MetricFamily {
        MetricFamily(
            "tls_certificate_expiry_timestamp_seconds", .gauge,
            "When a certificate in use expires, in seconds since 1970.", by: "certificate",
            loaded.withLock { $0 }.map { ($0.files.certificate, ctls_certificate_end($0.pointer)) })
    }

    private static func load(_ files: [TLSFiles]) throws(StartError) -> [Certificate] {
        var certificates: [Certificate] = []
        for pair in files { certificates.append(try Certificate(pair)) }
        return certificates
    }

    // MARK: Handshakes

    // Not nil: it was a pointer.
    private var context: OpaquePointer { OpaquePointer(bitPattern: contextAddress)! }
    private var method: OpaquePointer { OpaquePointer(bitPattern: methodAddress)! }

    /// The server's side of TLS on a socket. It must not outlive this object. Nil if memory is short.
    func accept(_ descriptor: Int32) -> TLSConnection? { TLSConnection(context, method, descriptor) }

    /// OpenSSL's certificate callback: 1 goes on with the handshake, 0 ends it.
    private static let chooseCallback: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { ssl, this in
        guard let ssl, let this else { return 0 }
        let certificates = Unmanaged<TLSCertificates>.fromOpaque(this)
        return certificates._withUnsafeGuaranteedRef {
            let certificate = $0.choose(for: ssl)
            // A reload may release it meanwhile.
            return withExtendedLifetime(certificate) { ctls_use_certificate(ssl, certificate.pointer) }
        }
    }

    /// The slot of a context that belongs to the program (`SSL_CTX_set_app_data`).
    private static let ownIndex: Int32 = 0

    /// Makes new keys of tickets if they are due. The loops call it once a second, so that a gateway without handshakes
    /// keeps none for longer, either.
    func renewTicketKeys() {
        // The clock is read under the lock, so that no other thread renews them in between.
        ticketKeys.withLock { $0.renew(at: now()) }
    }

    /// OpenSSL's ticket callback: 0 goes on without the ticket, 1 with it, 2 replaces it by one of the current key, -1 ends the
    /// handshake.
    private static let ticketCallback:
        @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt8>?, OpaquePointer?, OpaquePointer?, Int32
        ) -> Int32 = { ssl, name, vector, cipher, mac, isSealed in
            guard let ssl, let name, let context = SSL_get_SSL_CTX(ssl),
                let this = SSL_CTX_get_ex_data(context, TLSCertificates.ownIndex)
            else { return -1 }
            return Unmanaged<TLSCertificates>.fromOpaque(this)._withUnsafeGuaranteedRef {
                $0.renewTicketKeys()
                let keys = $0.ticketKeys.withLock { $0 }
                guard let key = isSealed == 1 ? keys.current : keys.key(named: name) else { return 0 }
                let result = withExtendedLifetime(key) { ctls_use_ticket_key(key.bytes, name, vector, cipher, mac, isSealed) }
                return result == 1 && isSealed == 0 && key !== keys.current ? 2 : result
            }
        }

    private func choose(for ssl: OpaquePointer) -> Certificate {
        let certificates = loaded.withLock { $0 }
        guard certificates.count > 1, let name = ctls_requested_name(ssl) else { return certificates[0] }
        return certificates.first { ctls_certificate_matches($0.pointer, name) == 1 } ?? certificates[0]
    }
}
