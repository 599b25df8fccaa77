import Glibc
import Testing

@testable import Server

/// The variables of sd_listen_fds(3).
@Suite struct InheritedListenerTests {
    /// What the service manager sets for one socket.
    private func variables(process: pid_t = getpid(), count: String = "1") -> [String: String] {
        ["LISTEN_PID": String(process), "LISTEN_FDS": count]
    }

    private func inherited(_ variables: [String: String], _ descriptor: Int32 = -1) throws(StartError) -> Listener? {
        try Listener.inherited(environment: { variables[$0] }, first: descriptor)
    }

    @Test("without a manager's variables, or with those for another process, no socket is inherited")
    func nothing() throws {
        #expect(try inherited([:]) == nil)
        #expect(try inherited(variables(process: getppid())) == nil)
        #expect(try inherited(variables(count: "0")) == nil)
        #expect(try inherited(["LISTEN_FDS": "1"]) == nil)
        #expect(try inherited(variables(count: "one")) == nil)
    }

    @Test("the passed socket accepts connections as one of the gateway's own does")
    func accepts() throws {
        let manager = try Listener(host: "127.0.0.1", port: 0)
        defer { manager.stop() }
        let listener = try #require(try inherited(variables(), dup(manager.descriptor)))
        defer { listener.stop() }
        #expect(listener.isInherited && !manager.isInherited)
        #expect(listener.port == manager.port && listener.host == "127.0.0.1")
        #expect(fcntl(listener.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        guard case .wouldBlock = listener.accept() else {
            Issue.record("a connection without a client")
            return
        }
    }

    @Test("several sockets, and what cannot accept TCP connections, are refused with a hint")
    func refuses() throws {
        #expect(throws: StartError.self) { try inherited(variables(count: "2")) }
        #expect(throws: StartError.self) { try inherited(variables(), -1) }
        let unbound = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let datagrams = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        let local = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        for descriptor in [unbound, datagrams, local] {
            let error = #expect(throws: StartError.self) { try inherited(variables(), descriptor) }
            #expect(error?.isConfiguration == true && error?.description.contains("ListenStream") == true)
            close(descriptor)
        }
    }
}
