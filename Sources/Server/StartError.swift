import Glibc

/// Why the server cannot start: what it could not do, readable after "cannot ".
package struct StartError: Error, CustomStringConvertible {
    package let description: String
    /// Whether somebody else has the port.
    package let isAddressInUse: Bool

    init(_ description: String) {
        self.description = description
        isAddressInUse = false
    }

    /// A system call failed.
    init(operation: String, code: Int32) {
        description = "\(operation): \(String(cString: strerror(code)))"
        isAddressInUse = code == EADDRINUSE
    }

    init(unusable tls: TLSFiles) {
        self.init("use the certificate \(tls.certificate) with the key \(tls.key): expected PEM files that belong together")
    }
}
