import Glibc
import Testing

@testable import HTTPClient

@Suite struct HTTPClientTests {
    @Test(arguments: [
        "https://issuer.example/keys", "https://127.0.0.1:8443/", "HTTPS://issuer.example", "http://127.0.0.1:8080/keys",
        "http://[::1]:8080/keys", "http://localhost/keys?a=b#c",
    ]) func allowsHTTPSAndPlainHTTPOnLoopback(url: String) throws { try HTTPClient.checkAuthenticated(url) }

    /// A proxy reads what is not encrypted, and has another loopback.
    @Test(arguments: [
        ("https://issuer.example/keys", true), ("HTTPS://issuer.example", true), ("https://127.0.0.1.example/", true),
        ("https://localhost.example/", true), ("https://10.0.0.1/", true), ("https://[::2]/", true),
        ("http://issuer.example/keys", false), ("http://10.0.0.1:6001/", false), ("https://127.0.0.1:8443/", false),
        ("https://127.1.2.3/", false), ("https://[::1]/", false), ("https://localhost:6001/", false),
        ("http://127.0.0.1/", false), ("", false), ("nonsense", false),
    ]) func onlyHTTPSToOtherMachinesUsesAProxy(url: String, usesProxy: Bool) {
        #expect(HTTPClient.usesProxy(for: url) == usesProxy)
    }

    @Test(arguments: [
        "", "keys", "/keys", "issuer.example/keys", "http://issuer.example/keys", "http://127.0.0.1.evil.example/",
        "http://127.0.0.1@evil.example/", "http://evil.example#@127.0.0.1/", "http://evil.example\\@127.0.0.1/",
        "http://127.0.0.2/", "http://[::2]/", "http://localhost.evil.example/", "http://0.0.0.0/", "http://169.254.169.254/",
        "https://user@issuer.example/", "https://user:secret@issuer.example/", "file:///etc/passwd", "ftp://127.0.0.1/",
        "gopher://localhost/", "https://", "https:// issuer.example/", "https://issuer.example/\0.evil.example",
        "http://127.0.0.1:99999/", "http://localhost\n.evil.example/",
    ]) func rejectsOtherURLsBeforeConnecting(url: String) {
        #expect(throws: HTTPClientError.self) {
            try HTTPClient.sendAuthenticated(HTTPClientRequest(.get, url), timeoutSeconds: 1)
        }
        #expect(throws: HTTPClientError.self) { try HTTPClient.checkAuthenticated(url) }
    }

    @Test(arguments: ["http", "https"]) func failsWithLibcurlsTextIfTheConnectionIsRefused(scheme: String) {
        // Nothing listens on port 1.
        let request = HTTPClientRequest(.get, scheme + "://127.0.0.1:1/keys")
        let error = #expect(throws: HTTPClientError.self) { try HTTPClient.sendAuthenticated(request, timeoutSeconds: 5) }
        #expect(error?.description.contains("127.0.0.1") == true)
    }

    @Test func rejectsOtherProtocols() {
        for url in ["file:///etc/hostname", "ftp://127.0.0.1:1/", "gopher://127.0.0.1:1/"] {
            #expect(throws: HTTPClientError.self) { try HTTPClient.send(HTTPClientRequest(.get, url), timeoutSeconds: 5) }
        }
    }

    @Test func returnsAResponseOfAnyStatus() throws {
        let response = "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 4\r\n\r\nbody"
        let (result, requests) = exchange(response)
        #expect(try result.get() == HTTPClientResponse(status: 302, body: Array("body".utf8)))
        #expect(requests.count == 1, "redirects are not followed")
        #expect(requests.first?.hasPrefix("POST /p HTTP/1.1\r\n") == true)
        #expect(requests.first?.hasSuffix("\r\n\r\n{}") == true)
    }

    @Test(arguments: [0, 1]) func acceptsBodiesOnlyUpToTheLimit(bytesOverLimit excess: Int) throws {
        let count = HTTPClient.responseBytesMax + excess
        let response = "HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n" + String(repeating: "x", count: count)
        let (result, _) = exchange(response)
        if excess == 0 {
            #expect(try result.get().body.count == count)
        } else {
            #expect(result == .failure(.lost("the response exceeds 1048576 bytes")))
        }
    }

    @Test func rejectsIncompleteResponses() {
        let (result, _) = exchange("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        #expect(result == .failure(.lost("the response was cut off")))
    }

    /// Sends one request to a server that sends `response` and closes the connection.
    private func exchange(
        _ response: String
    ) -> (result: Result<HTTPClientResponse, HTTPClientError>, requests: [String]) {
        let server = OneShotServer(response)
        let request = HTTPClientRequest(.post, server.url + "/p", body: Array("{}".utf8))
        let result = Result { () throws(HTTPClientError) in try HTTPClient.send(request, timeoutSeconds: 20) }
        return (result, server.join())
    }
}

/// An HTTP/1.1 server on its own thread: accepts one connection, reads one request that ends with `{}`, responds, and
/// closes the connection.
private final class OneShotServer {
    let url: String
    private let state: State
    private var thread = pthread_t()

    /// Only one thread at a time uses this object: the server's thread until ``join()`` returns, then the test's
    /// thread.
    private final class State {
        let listener = LoopbackListener(isNonBlocking: false)
        let response: [UInt8]
        var requests: [String] = []

        init(_ response: String) {
            self.response = Array(response.utf8)
        }

        func serve() {
            let connection = accept(listener.descriptor, nil, nil)
            var received: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while !received.suffix(2).elementsEqual("{}".utf8) {
                let count = read(connection, &chunk, chunk.count)
                guard count > 0 else { break }
                received += chunk[..<count]
            }
            requests.append(String(decoding: received, as: UTF8.self))
            var sent = 0
            while sent < response.count {
                let count = response[sent...].withUnsafeBytes {
                    Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { break }
                sent += count
            }
            close(connection)
            listener.stop()
        }
    }

    init(_ response: String) {
        state = State(response)
        url = state.listener.url
        pthread_create(&thread, nil, Self.run, Unmanaged.passRetained(state).toOpaque())
    }

    /// Waits until the thread has ended, and returns the received requests.
    func join() -> [String] {
        pthread_join(thread, nil)
        return state.requests
    }

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        if let context { Unmanaged<State>.fromOpaque(context).takeRetainedValue().serve() }
        return nil
    }
}
