/// Paths of a certificate chain and its private key, both PEM.
package struct TLSFiles: Equatable, Sendable {
    /// The path of the certificate chain, leaf first.
    package let certificate: String
    /// The path of the private key.
    package let key: String

    /// Stores the paths; each ``EventLoop`` reads the files when it is created.
    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}
