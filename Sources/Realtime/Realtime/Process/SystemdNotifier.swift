import Glibc

/// Tells the service manager the state of the process: the protocol of systemd's `sd_notify(3)`, a datagram per message
/// to the socket that the manager names in `NOTIFY_SOCKET`.
package struct SystemdNotifier: Sendable {
    /// A message to the manager.
    package enum State: String {
        /// The process migrates a large store: the manager waits a day longer for ``ready`` than `TimeoutStartSec`, because an
        /// interrupted migration begins anew.
        case migrating = "EXTEND_TIMEOUT_USEC=86400000000"
        /// The process serves.
        case ready = "READY=1"
        /// The process drains and will exit.
        case stopping = "STOPPING=1"
        /// The process is alive. If the manager expects this message (`WATCHDOG_USEC`), it restarts a process that stops
        /// sending it. The watchdog sends it once a second, so `WatchdogSec` must be at least 2 s.
        case watchdog = "WATCHDOG=1"
    }

    /// The path of the manager's socket; nil without a manager. An abstract address begins with `@`.
    private let path: String?
    private let isWatched: Bool

    /// - Parameter environment: the process's environment variables, by name.
    init(environment: (String) -> String?) {
        path = environment("NOTIFY_SOCKET").flatMap { $0.utf8.count < Self.pathMax ? $0 : nil }
        // Without a manager's watchdog the variable is absent or 0. WATCHDOG_PID excludes child processes.
        let microseconds = environment("WATCHDOG_USEC").flatMap { UInt64($0) } ?? 0
        isWatched = microseconds > 0 && environment("WATCHDOG_PID").flatMap { pid_t($0) } ?? getpid() == getpid()
    }

    /// The notifier of this process.
    package static var ofThisProcess: SystemdNotifier {
        SystemdNotifier { name in getenv(name).map { String(cString: $0) } }
    }

    /// Sends a message. It never blocks, and errors are ignored: the manager acts if it misses a message.
    package func send(_ state: State) {
        guard let path, state != .watchdog || isWatched else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            bytes.copyBytes(from: path.utf8)
            if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        }
        // The length of an abstract address is part of it.
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.utf8.count)
        let text = Array(state.rawValue.utf8)
        withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(descriptor, text, text.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }

    private static let pathMax = MemoryLayout.size(ofValue: sockaddr_un().sun_path)
}
