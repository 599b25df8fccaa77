/// A certificate chain and its private key, PEM files.
package struct TLSFiles: Equatable, Sendable {
    package let certificate: String
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// A certificate or key that cannot be used.
package struct TLSError: Error, CustomStringConvertible {
    let files: TLSFiles

    package var description: String {
        "use the certificate \(files.certificate) with the key \(files.key): expected PEM files that belong together"
    }
}
