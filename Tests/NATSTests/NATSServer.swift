import Glibc
import Threads

/// A real nats-server on a free port of 127.0.0.1.
final class NATSServer: Sendable {
    private let arguments: [String]
    private let process: Lock<ChildProcess?>
    let port: Int

    /// Starts a server and waits until it accepts connections.
    init(_ arguments: [String] = []) {
        self.arguments = arguments
        let child = ChildProcess(["nats-server", "-a", "127.0.0.1", "-p", "-1"] + arguments)
        let output = child.readErrors(until: "Server is ready")
        let label = "Listening for client connections on 127.0.0.1:"
        guard let start = output.firstRange(of: label), let port = Int(output[start.upperBound...].prefix { $0.isNumber }) else {
            preconditionFailure("no port: \(output)")
        }
        self.port = port
        process = Lock(child)
    }

    deinit { kill() }

    var url: String { "nats://127.0.0.1:\(port)" }

    /// Kills the server.
    func kill() {
        process.withLock { process in
            process?.signal(SIGKILL)
            process?.wait()
            process = nil
        }
    }

    /// Starts the server again on its port.
    func restart() {
        kill()
        let child = ChildProcess(["nats-server", "-a", "127.0.0.1", "-p", String(port)] + arguments)
        _ = child.readErrors(until: "Server is ready")
        process.withLock { $0 = child }
    }

    func freeze() { process.withLock { $0?.signal(SIGSTOP) } }

    func thaw() { process.withLock { $0?.signal(SIGCONT) } }
}
