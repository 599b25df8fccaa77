import Addresses
import CTLS
import Glibc
import Testing

@testable import Server

/// Serialized, because otherwise the kernel could assign the port that one test frees to another test.
@Suite(.serialized) struct ListenerTests {
    /// Connects to `listener` on `host` and returns the client's descriptor.
    private func connected(_ listener: Listener, host: String) throws -> Int32 {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var addresses: UnsafeMutablePointer<addrinfo>?
        try #require(getaddrinfo(host, String(listener.port), &hints, &addresses) == 0)
        defer { freeaddrinfo(addresses) }
        let address = try #require(addresses?.pointee)
        let client = socket(address.ai_family, address.ai_socktype, 0)
        try #require(connect(client, address.ai_addr, address.ai_addrlen) == 0, "\(String(cString: strerror(errno)))")
        var readiness = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
        try #require(poll(&readiness, 1, 10_000) == 1)
        return client
    }

    private func accepted(by listener: Listener) -> Listener.AcceptedSocket? {
        if case .accepted(let connection) = listener.accept() { connection } else { nil }
    }

    @Test func port0BindsAFreePort() throws {
        let one = try Listener(host: "127.0.0.1", port: 0)
        let other = try Listener(host: "127.0.0.1", port: 0)
        #expect(one.port > 0 && other.port > 0 && one.port != other.port)
        one.stop()
        other.stop()
    }

    @Test func reportsAPortInUse() throws {
        let first = try Listener(host: "127.0.0.1", port: 0)
        defer { first.stop() }
        let error = try #require(throws: StartError.self) { try Listener(host: "127.0.0.1", port: first.port) }
        #expect(error.isAddressInUse)
        #expect("\(error)" == "listen on 127.0.0.1:\(first.port): Address already in use")
    }

    @Test func reportsAnAddressOfAnotherHost() throws {
        // No host has this address: RFC 5737 reserves it for documentation.
        let error = try #require(throws: StartError.self) { try Listener(host: "192.0.2.1", port: 0) }
        #expect("\(error)" == "listen on 192.0.2.1:0: Cannot assign requested address")
    }

    @Test func stopFreesThePort() throws {
        let first = try Listener(host: "127.0.0.1", port: 0)
        first.stop()
        let second = try Listener(host: "127.0.0.1", port: first.port)
        #expect(second.port == first.port)
        second.stop()
    }

    @Test func acceptWouldBlockWithoutPendingConnections() throws {
        let listener = try Listener(host: "127.0.0.1", port: 0)
        defer { listener.stop() }
        guard case .wouldBlock = listener.accept() else {
            Issue.record("accepted a connection")
            return
        }
    }

    @Test(arguments: ["127.0.0.1", "127.1.2.3"]) func recognisesLoopbackClients(host: String) throws {
        let listener = try Listener(host: "0.0.0.0", port: 0)
        defer { listener.stop() }
        let client = try connected(listener, host: host)
        defer { close(client) }
        let connection = try #require(accepted(by: listener))
        defer { close(connection.descriptor) }
        #expect(connection.address.isLoopback)
        #expect(accepted(by: listener) == nil)
    }

    @Test func recognisesLoopbackClientsOverIPv6() throws {
        guard let listener = try? Listener(host: "::", port: 0) else { return }  // a machine without IPv6 cannot run this test
        defer { listener.stop() }
        for host in ["::1", "127.0.0.1"] {
            let client = try connected(listener, host: host)
            defer { close(client) }
            let connection = try #require(accepted(by: listener))
            defer { close(connection.descriptor) }
            #expect(connection.address.isLoopback && connection.address == IPAddress(host), "\(host)")
        }
    }

    /// A socket must not block the event loop that uses it, and a child process must not inherit the socket.
    @Test func acceptedSocketsAreNonBlockingCloseOnExecWithoutDelayAndWithASmallSendBuffer() throws {
        let listener = try Listener(host: "127.0.0.1", port: 0)
        defer { listener.stop() }
        let client = try connected(listener, host: "127.0.0.1")
        defer { close(client) }
        let connection = try #require(accepted(by: listener))
        defer { close(connection.descriptor) }
        for descriptor in [listener.descriptor, connection.descriptor] {
            #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
            #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        #expect(getsockopt(connection.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &value, &length) == 0 && value != 0)
        #expect(getsockopt(connection.descriptor, SOL_SOCKET, SO_SNDBUF, &value, &length) == 0 && value == 262_144)
    }
}
