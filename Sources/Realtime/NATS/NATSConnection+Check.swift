import CNats
import Glibc
import Threads

extension NATSConnection {
    /// Connects once, for at most 5 s, and disconnects.
    /// - Returns: nil if a server accepted the connection; otherwise what went wrong, without credentials.
    package static func check(_ options: Options) -> String? {
        let outcome = Monitor<String??>(nil)
        let thread = Thread(name: "nats-check") {
            let problem = problem(connectingTo: options)
            outcome.withLock { $0 = .some(problem) }
            outcome.signal()
        }
        guard let problem = outcome.wait(milliseconds: 5_000, until: { $0 != nil }, then: { $0 }) else {
            // The thread ends when the system's resolver does.
            return "no answer within 5 s"
        }
        thread.join()
        return problem.map(options.redacted)
    }

    private static func problem(connectingTo options: Options) -> String? {
        var problems: [String] = []
        for server in options.servers.map(ServerAddress.init) {
            let prepared = ConnectOptions(server, options)
            guard let handle = prepared.handle else { return prepared.problem }
            defer { natsOptions_Destroy(handle) }
            var connection: OpaquePointer?
            let status = natsConnection_Connect(&connection, handle)
            if status == NATS_OK {
                natsConnection_Destroy(connection)
                return nil
            }
            let isUnknown = status == NATS_NO_SERVER ? resolverProblem(server.host) : nil
            problems.append("\(server.host): \(isUnknown ?? ConnectOptions.problem(status))")
        }
        return problems.isEmpty ? "no server is configured" : problems.joined(separator: "; ")
    }

    /// Why a host's name has no address; nil if it has one. cnats says only that no server is available.
    private static func resolverProblem(_ host: String) -> String? {
        var addresses: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, nil, nil, &addresses)
        if let addresses { freeaddrinfo(addresses) }
        return result == 0 ? nil : String(cString: gai_strerror(result))
    }
}
