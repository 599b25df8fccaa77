import Glibc

/// Socket activation: a service manager binds the socket, and passes it to each process that it starts for the service
/// (`sd_listen_fds(3)`). Between two processes, connections wait in the socket's queue.
extension Listener {
    /// The descriptor of the first socket that the manager passes (`SD_LISTEN_FDS_START`).
    private static let firstDescriptor: Int32 = 3

    /// The listening socket that a service manager has passed to this process; nil if it has passed none.
    /// - Parameters:
    ///   - environment: the process's environment variables, by name.
    ///   - first: the descriptor of the first passed socket, which tests replace.
    /// - Throws: ``StartError`` if it has passed several sockets, or one on which no TCP connections can be accepted.
    package static func inherited(
        environment: (String) -> String?, first: Int32? = nil
    ) throws(StartError) -> Listener? {
        // A child of the process for which the socket is meant may have the variables, too.
        guard let process = environment("LISTEN_PID").flatMap({ pid_t($0) }), process == getpid(),
            let count = environment("LISTEN_FDS").flatMap({ Int($0) }), count > 0
        else { return nil }
        let descriptor = first ?? firstDescriptor
        guard count == 1 else {
            throw StartError(
                "use the \(count) sockets of the service manager: expected one ListenStream", isConfiguration: true)
        }
        let family = option(SO_DOMAIN, of: descriptor)
        guard family == Int(AF_INET) || family == Int(AF_INET6), option(SO_TYPE, of: descriptor) == Int(SOCK_STREAM.rawValue),
            option(SO_ACCEPTCONN, of: descriptor) == 1
        else {
            throw StartError(
                "use the socket of the service manager: expected a listening TCP socket, such as ListenStream=127.0.0.1:6001",
                isConfiguration: true)
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        setOptionsOfConnections(descriptor)
        return Listener(descriptor, isInherited: true)
    }

    /// The value of a socket's option of the level SOL_SOCKET; nil if the descriptor is no socket.
    private static func option(_ option: Int32, of descriptor: Int32) -> Int? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, option, &value, &length) == 0 ? Int(value) : nil
    }
}
