/// Paths of a certificate chain and its private key, both PEM.
package struct TLSFiles: Equatable, Sendable {
    package let certificate: String
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}
