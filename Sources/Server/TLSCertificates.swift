import CTLS
import Glibc
import Threads

/// Paths of a certificate chain and its private key, both PEM.
package struct TLSFiles: Equatable, Sendable {
    /// The path of the certificate chain, leaf first.
    package let certificate: String
    /// The path of the private key, without a passphrase.
    package let key: String

    package init(certificate: String, key: String) {
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
    /// The `SSL_CTX` of all connections. OpenSSL allows threads to share it. An integer because pointers are not
    /// Sendable.
    private let contextAddress: UInt
    /// The methods of all connections' BIOs, as an integer like the context.
    private let methodAddress: UInt

    /// - Parameter files: at least one pair.
    /// - Throws: ``StartError`` if a file is unusable, or a key does not belong to its certificate.
    package init(_ files: [TLSFiles]) throws(StartError) {
        precondition(!files.isEmpty, "a TLS listener without a certificate")
        loaded = Lock(try Self.load(files))
        // Encrypt the sessions that clients keep to resume them.
        let ticketKeys = (0..<Int(CTLS_TICKET_KEY_BYTES)).map { _ in UInt8.random(in: 0...255) }
        guard let context = ctls_new_context(ticketKeys), let method = ctls_new_socket_method() else {
            throw StartError("create the TLS context: out of memory")
        }
        contextAddress = UInt(bitPattern: context)
        methodAddress = UInt(bitPattern: method)
        SSL_CTX_set_cert_cb(context, Self.chooseCallback, Unmanaged.passUnretained(self).toOpaque())
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

    /// For each certificate its path, and the time at which it expires, in seconds since 1970.
    package var expiries: [(path: String, at: Int)] {
        loaded.withLock { $0 }.map { ($0.files.certificate, ctls_certificate_end($0.pointer)) }
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

    private func choose(for ssl: OpaquePointer) -> Certificate {
        let certificates = loaded.withLock { $0 }
        guard certificates.count > 1, let name = ctls_requested_name(ssl) else { return certificates[0] }
        return certificates.first { ctls_certificate_matches($0.pointer, name) == 1 } ?? certificates[0]
    }
}
