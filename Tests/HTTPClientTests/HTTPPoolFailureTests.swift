import HTTPClient
import Testing

@Suite struct HTTPPoolFailureTests {
    /// The error of a GET to `server`; nil if it succeeded.
    static func error(
        of server: ScriptedServer, scheme: String = "http", _ change: (inout HTTPPool.Options) -> Void = { _ in }
    ) -> HTTPClientError? {
        let pool = HTTPPool(HTTPPoolTests.options(change))
        pool.start(HTTPClientRequest(.get, "\(scheme)://127.0.0.1:\(server.port)/"), tag: 0)
        guard case .failure(let error)? = HTTPPoolTests.run(pool, server, until: 1)[0] else { return nil }
        return error
    }

    @Test(arguments: ["", "HTTP/1.1 500 No\r\nContent-Length: 10\r\n\r\nshort", "HTTP/1.1 100 Continue\r\n\r\n", "nonsense"])
    func connectionClosedAfterTheRequestIsLost(response: String) {
        guard case .lost(let text)? = Self.error(of: ScriptedServer({ _ in .last(response) })) else {
            Issue.record("expected .lost")
            return
        }
        #expect(!text.isEmpty)
    }

    /// After a 2xx status, the server has processed the request, so an incomplete body is not an error.
    @Test func incomplete2xxIsAResponse() {
        let raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"
        let response = Result<HTTPClientResponse, HTTPClientError>.success(
            HTTPClientResponse(status: 200, body: Array("short".utf8), isComplete: false))
        let short = ScriptedServer { _ in .last(raw) }
        let pool = HTTPPool(HTTPPoolTests.options { $0.timeoutMilliseconds = 200 })
        pool.start(HTTPClientRequest(.get, short.url), tag: 0)
        #expect(HTTPPoolTests.run(pool, short, until: 1)[0] == response, "connection closed")

        let slow = ScriptedServer { _ in .bytes(raw) }
        pool.start(HTTPClientRequest(.get, slow.url), tag: 1)
        #expect(HTTPPoolTests.run(pool, slow, until: 1)[1] == response, "timed out")

        pool.start(HTTPClientRequest(.get, slow.url), tag: 2)
        while slow.requests.count < 2 {
            #expect(pool.perform().isEmpty)
            slow.step()
            pool.wait(milliseconds: 1)
        }
        for _ in 0..<3 { _ = pool.perform() }
        #expect(pool.retire().map(\.result) == [response], "retired")
    }

    @Test func bodyOverTheLimitIsNotAnError() {
        let server = ScriptedServer { _ in
            .bytes("HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" + String(repeating: "x", count: 50_000))
        }
        #expect(Self.error(of: server) { $0.responseBytesMax = 49_999 } == nil)
        #expect(Self.error(of: server) { $0.responseBytesMax = 50_000 } == nil)
    }

    /// The server announces a gigabyte and sends a little of it: nothing more is waited for.
    @Test(arguments: [200, 404, 500]) func aResponseEndsAtItsLimit(status: Int) {
        let server = ScriptedServer { _ in
            .bytes("HTTP/1.1 \(status) X\r\nContent-Length: 1000000000\r\n\r\n" + String(repeating: "x", count: 3_000))
        }
        let pool = HTTPPool(HTTPPoolTests.options { $0.responseBytesMax = 1_000 })
        let response = HTTPClientResponse(status: status, body: [UInt8](repeating: 0x78, count: 1_000), isComplete: false)
        for tag in 0..<2 {
            pool.start(HTTPClientRequest(.get, server.url), tag: tag)
            #expect(HTTPPoolTests.run(pool, server, until: 1)[tag] == .success(response))
        }
        #expect(server.connectionCount == 2, "the rest would precede the next response")
    }

    @Test func theStatusSufficesIfNothingElseCounts() {
        let server = ScriptedServer { _ in .bytes("HTTP/1.1 500 X\r\nContent-Length: 10\r\n\r\nshort") }
        #expect(Self.error(of: server) { $0.timeoutMilliseconds = 200 } == .timedOut)
        #expect(
            Self.error(of: server) {
                $0.timeoutMilliseconds = 200
                $0.needsOnlyStatus = true
            } == nil)
        let nothing = ScriptedServer { _ in .bytes("HTTP/1.1 100 Continue\r\n\r\n") }
        #expect(
            Self.error(of: nothing) {
                $0.timeoutMilliseconds = 200
                $0.needsOnlyStatus = true
            } == .timedOut)
    }

    @Test func withdrawsUnwrittenRequests() {
        let silent = ScriptedServer { _ in .silence }
        let pool = HTTPPool(HTTPPoolTests.options { $0.connectionsPerHost = 1 })
        for tag in 1...3 { pool.start(HTTPClientRequest(.get, "http://127.0.0.1:\(silent.port)/\(tag)"), tag: tag) }
        // The first request is written. The other two wait until the only connection is free.
        while silent.requests.isEmpty {
            #expect(pool.perform().isEmpty)
            silent.step()
            pool.wait(milliseconds: 1)
        }
        #expect(pool.withdraw([1, 3, 7]) == [3])
        #expect(pool.withdraw([1, 3]) == [])
        #expect(pool.inFlight == 2)
        #expect(pool.retire().map(\.tag).sorted() == [1, 2])
    }

    @Test func timeOutDependsOnWhetherTheRequestWasWritten() {
        let silent = ScriptedServer { _ in .silence }
        #expect(Self.error(of: silent) { $0.timeoutMilliseconds = 50 } == .timedOut)
        // The server treats the TLS ClientHello as the start of a request, and waits for the rest.
        guard case .notSent? = Self.error(of: silent, scheme: "https", { $0.timeoutMilliseconds = 50 }) else {
            Issue.record("expected .notSent")
            return
        }
    }

    @Test func queuedRequestsTimeOut() {
        let silent = ScriptedServer { _ in .silence }
        let pool = HTTPPool(
            HTTPPoolTests.options {
                $0.connectionsPerHost = 1
                $0.timeoutMilliseconds = 100
            })
        for tag in 0..<20 { pool.start(HTTPClientRequest(.post, silent.url + "/", body: [1]), tag: tag) }
        let results = HTTPPoolTests.run(pool, silent, until: 20).values
        let unsent = HTTPClientError.notSent("no connection was ready within the time-out")
        #expect(results.count { $0 == .failure(.timedOut) } == silent.requests.count)
        #expect(results.count { $0 == .failure(unsent) } == 20 - silent.requests.count)
        #expect(silent.requests.count < 20)
    }

    @Test func retireEndsAllRequestsAndConnections() {
        var scripted = ScriptedServer.Response.bytes(HTTPPoolTests.ok)
        let server = ScriptedServer { _ in scripted }
        let pool = HTTPPool(HTTPPoolTests.options { $0.connectionsPerHost = 1 })
        #expect(pool.retire().isEmpty)
        pool.start(HTTPClientRequest(.get, server.url + "/"), tag: 0)
        _ = HTTPPoolTests.run(pool, server, until: 1)

        scripted = .silence
        for tag in 1...3 { pool.start(HTTPClientRequest(.get, server.url + "/"), tag: tag) }
        while server.requests.count < 2 {
            #expect(pool.perform().isEmpty)
            server.step()
        }
        pool.start(HTTPClientRequest(.get, server.url + "/"), tag: 4)  // not yet added to libcurl
        let ended = pool.retire().sorted { $0.tag < $1.tag }
        let text = "all connections were closed"
        #expect(ended.map(\.tag) == [1, 2, 3, 4])
        #expect(ended.map(\.result) == [.failure(.lost(text))] + Array(repeating: .failure(.notSent(text)), count: 3))
        #expect(pool.inFlight == 0 && pool.perform().isEmpty)

        scripted = .bytes(HTTPPoolTests.ok)
        pool.start(HTTPClientRequest(.get, server.url + "/"), tag: 1)
        #expect((try? HTTPPoolTests.run(pool, server, until: 1)[1]?.get())?.status == 200)
        #expect(server.connectionCount == 2)
    }

    @Test func poolCanBeFreedWithRequestsInFlight() {
        let silent = ScriptedServer { _ in .silence }
        var pool: HTTPPool? = HTTPPool(HTTPPoolTests.options())
        for tag in 0..<5 { pool?.start(HTTPClientRequest(.get, silent.url + "/"), tag: tag) }
        #expect(pool?.perform().isEmpty == true)
        pool = nil
    }

    // MARK: Requests that are not sent

    @Test func refusedConnectionIsNotSent() {
        let pool = HTTPPool(HTTPPoolTests.options())
        for tag in 0..<3 { pool.start(HTTPClientRequest(.get, "http://127.0.0.1:1/"), tag: tag) }
        for result in HTTPPoolTests.run(pool, until: 3).values {
            guard case .failure(.notSent(let text)) = result else {
                Issue.record("expected .notSent")
                continue
            }
            #expect(text.contains("127.0.0.1 port 1"))
        }
    }

    @Test func refusesPrivateAddressesBeforeConnecting() {
        let server = ScriptedServer { _ in .bytes(HTTPPoolTests.ok) }
        let refusal = HTTPClientError.notSent("127.0.0.1 is not a public address")
        #expect(Self.error(of: server) { $0.allowsPrivateAddresses = false } == refusal)
        #expect(server.connectionCount == 0)
    }

    @Test func doesNotReuseAConnectionToAPrivateAddress() {
        let server = ScriptedServer { _ in .bytes(HTTPPoolTests.ok) }
        let pool = HTTPPool(HTTPPoolTests.options { $0.allowsPrivateAddresses = false })
        let refusal = Result<HTTPClientResponse, HTTPClientError>.failure(.notSent("127.0.0.1 is not a public address"))
        // Nil applies the pool's option, which is false.
        for (tag, allows) in [nil, true, nil, false, true].enumerated() {
            pool.start(HTTPClientRequest(.get, server.url + "/"), tag: tag, allowsPrivateAddresses: allows)
            let result = HTTPPoolTests.run(pool, server, until: 1)[tag]
            #expect((result == refusal) == (allows != true))
        }
        #expect(server.requests.count == 2)
    }

    @Test func invalidRequestsAreNotSent() {
        let server = ScriptedServer { _ in .bytes(HTTPPoolTests.ok) }
        let strict = HTTPPool(HTTPPool.Options())
        let requests = [
            HTTPClientRequest(.get, server.url + "/"), HTTPClientRequest(.get, "ftp://127.0.0.1/"),
            HTTPClientRequest(.get, "file:///etc/passwd"),
            HTTPClientRequest(.get, ""), HTTPClientRequest(.get, "https://127.0.0.1\0.example.com/"),
            HTTPClientRequest(.get, "https://a b/"),
        ]
        for (tag, request) in requests.enumerated() { strict.start(request, tag: tag) }
        let lenient = HTTPPool(HTTPPoolTests.options())
        let headers = [
            ("", "v"), ("n:", "v"), ("n;", "v"), ("n n", "v"), ("n\r\n", "v"), ("n", "v\r\nx: y"), ("n", "v\n"), ("n", "\0"),
            ("n", "\u{7F}"),
        ]
        for (tag, header) in headers.enumerated() {
            lenient.start(HTTPClientRequest(.get, server.url + "/", headers: [("fine", "yes"), header]), tag: tag)
        }
        #expect(lenient.inFlight == headers.count)
        for (pool, count) in [(strict, requests.count), (lenient, headers.count)] {
            for (tag, result) in HTTPPoolTests.run(pool, server, until: count) {
                guard case .failure(.notSent) = result else {
                    Issue.record("\(tag): expected .notSent")
                    continue
                }
            }
        }
        #expect(server.requests.isEmpty)
    }

    @Test func serverWithoutHTTP2GetsNoRequest() {
        let server = ScriptedServer { _ in .bytes(HTTPPoolTests.ok) }
        #expect(Self.error(of: server) { $0.requiresHTTP2 = true } == .notSent("the server does not support HTTP/2"))
        #expect(server.requests.isEmpty)
    }
}
