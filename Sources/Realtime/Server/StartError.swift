import Glibc

/// Why the gateway cannot start. The description is printed after "cannot": verb, subject, reason.
package struct StartError: Error, CustomStringConvertible {
    /// The operation, its subject and the reason: `listen on 127.0.0.1:6001: Address already in use`.
    package let description: String
    /// Whether another process uses the port.
    package let isAddressInUse: Bool
    /// Whether the configuration is the cause; the process then exits with 78 (EX_CONFIG).
    package let isConfiguration: Bool

    /// - Parameter description: verb, subject, reason; without "cannot".
    package init(_ description: String, isConfiguration: Bool = false) {
        self.description = description
        self.isConfiguration = isConfiguration
        isAddressInUse = false
    }

    /// - Parameter code: the failed system call's `errno`.
    init(operation: String, code: Int32) {
        description = "\(operation): \(String(cString: strerror(code)))"
        isAddressInUse = code == EADDRINUSE
        isConfiguration = false
    }

    init(unusable tls: TLSFiles, _ problem: String) {
        self.init(
            "use server.tls.certificate \(tls.certificate) with server.tls.key \(tls.key): \(problem)", isConfiguration: true)
    }
}
