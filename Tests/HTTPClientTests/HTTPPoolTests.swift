import Glibc
import HTTPClient
import Testing

@Suite struct HTTPPoolTests {
    /// A complete response with the body `ok`.
    static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Options that allow plain HTTP and have a long time-out for slow machines.
    static func options(_ change: (inout HTTPPool.Options) -> Void = { _ in }) -> HTTPPool.Options {
        var options = HTTPPool.Options()
        options.allowsPlainHTTP = true
        options.timeoutMilliseconds = 20_000
        change(&options)
        return options
    }

    /// Runs the pool and the server until `count` requests have ended. Returns their results by tag.
    static func run(
        _ pool: HTTPPool, _ server: ScriptedServer? = nil, until count: Int
    ) -> [Int: Result<HTTPClientResponse, HTTPClientError>] {
        var results: [Int: Result<HTTPClientResponse, HTTPClientError>] = [:]
        while results.count < count {
            for completion in pool.perform() {
                #expect(results.updateValue(completion.result, forKey: completion.tag) == nil, "a request ends once")
                #expect(completion.seconds >= 0 && completion.seconds < 30)
            }
            server?.step()
            if results.count < count { pool.wait(milliseconds: 1) }
        }
        return results
    }

    @Test func responsesHaveStatusBodyAndKeptHeaders() {
        let server = ScriptedServer { _ in
            .bytes(
                """
                HTTP/1.1 103 Early Hints\r\napns-id: early\r\n\r\n\
                HTTP/1.1 429 Too Many\r\nRetry-After: 5\r\nServer: x\r\n\
                Date: now\r\nretry-after: 7\r\nContent-Length: 4\r\n\r\nbody
                """)
        }
        let pool = HTTPPool(Self.options())
        pool.start(HTTPClientRequest(.get, server.url + "/a"), tag: 7)
        #expect(pool.inFlight == 1)
        let response = HTTPClientResponse(status: 429, body: Array("body".utf8), headers: ["retry-after": "7"])
        #expect(Self.run(pool, server, until: 1) == [7: .success(response)])
        #expect(pool.inFlight == 0)
    }

    @Test func writesHeadersAndBodyUnchanged() throws {
        let server = ScriptedServer { _ in .bytes(Self.ok) }
        let pool = HTTPPool(Self.options())
        let headers = [
            (name: "Content-Type", value: "application/json"), (name: "X-Empty", value: ""), (name: "x-é", value: "é\t;"),
        ]
        let body = String(repeating: "b", count: 100_000) + "\0end"
        pool.start(HTTPClientRequest(.post, server.url + "/p?q=1", headers: headers, body: Array(body.utf8)), tag: 0)
        _ = Self.run(pool, server, until: 1)
        let posted = try #require(server.requests.first)
        #expect(posted.hasPrefix("POST /p?q=1 HTTP/1.1\r\n"))
        for line in ["Content-Type: application/json", "X-Empty:", "x-é:é\t;", "Content-Length: 100004"] {
            #expect(posted.split(separator: "\r\n").contains { $0.replacing(": ", with: ":") == line.replacing(": ", with: ":") })
        }
        #expect(posted.hasSuffix("\r\n\r\n" + body))
    }

    /// The kernel grants a send buffer of twice the configured size, but the pool uses only the configured size.
    @Test func startsOnlyWhatFitsTheSendBuffer() {
        let server = ScriptedServer { _ in .bytes(Self.ok) }
        let pool = HTTPPool(
            Self.options {
                $0.sendBufferBytes = 65_536
                $0.connectionsPerHost = 10
            })
        for tag in 0..<5 {
            pool.start(HTTPClientRequest(.post, server.url, body: [UInt8](repeating: 1, count: 40_000)), tag: tag)
        }
        #expect(pool.perform().isEmpty && pool.inFlight == 5)
        server.step()
        #expect(server.connectionCount == 1, "the others wait until the first is written")
        #expect(Self.run(pool, server, until: 5).values.allSatisfy { (try? $0.get())?.status == 200 })
        for tag in 0..<5 { pool.start(HTTPClientRequest(.post, server.url, body: [UInt8](repeating: 1, count: 5_000)), tag: tag) }
        _ = pool.perform()
        server.step()
        #expect(Self.run(pool, server, until: 5).count == 5)
        #expect(server.connectionCount > 1, "small requests fit together")
    }

    @Test func sendsRequestsLargerThanTheSendBuffer() {
        let server = ScriptedServer { _ in .bytes(Self.ok) }
        let pool = HTTPPool(Self.options { $0.sendBufferBytes = 65_536 })
        for tag in 0..<3 {
            pool.start(HTTPClientRequest(.post, server.url, body: [UInt8](repeating: 1, count: 1_000_000)), tag: tag)
        }
        #expect(Self.run(pool, server, until: 3).values.allSatisfy { (try? $0.get())?.status == 200 })
        #expect(server.requests.map(\.utf8.count).min() ?? 0 > 1_000_000)
    }

    @Test func queuedRequestsCanBeWithdrawnAndTimeOut() {
        let server = ScriptedServer { _ in .silence }
        let pool = HTTPPool(
            Self.options {
                $0.sendBufferBytes = 65_536
                $0.timeoutMilliseconds = 200
            })
        for tag in 0..<4 {
            pool.start(HTTPClientRequest(.post, server.url, body: [UInt8](repeating: 1, count: 60_000)), tag: tag)
        }
        _ = pool.perform()
        #expect(pool.withdraw([2]) == [2])
        let results = Self.run(pool, server, until: 3)
        #expect(results.keys.sorted() == [0, 1, 3])
        #expect(results[3] == .failure(.notSent("no connection was ready within the time-out")))
        #expect(pool.inFlight == 0)
    }

    @Test func reusedHandleKeepsNothingOfTheLastRequest() throws {
        let server = ScriptedServer { _ in .bytes(Self.ok) }
        let pool = HTTPPool(Self.options())
        let requests = [
            HTTPClientRequest(.post, server.url + "/1", headers: [("authorization", "secret")], body: Array("first".utf8)),
            HTTPClientRequest(.get, server.url + "/2"),
            HTTPClientRequest(.post, server.url + "/3", body: []),
        ]
        for (tag, request) in requests.enumerated() {
            pool.start(request, tag: tag)
            #expect(Self.run(pool, server, until: 1)[tag] == .success(HTTPClientResponse(status: 200, body: Array("ok".utf8))))
        }
        #expect(server.connectionCount == 1)
        try #require(server.requests.count == 3)
        #expect(server.requests[1].hasPrefix("GET /2 ") && server.requests[1].hasSuffix("\r\n\r\n"))
        #expect(server.requests[2].hasPrefix("POST /3 ") && server.requests[2].contains("Content-Length: 0\r\n"))
        #expect(!server.requests[1...].contains { $0.contains("secret") || $0.contains("first") })
    }

    @Test func manyRequestsShareTheConnections() {
        let server = ScriptedServer { _ in .bytes(Self.ok) }
        let pool = HTTPPool(Self.options { $0.connectionsPerHost = 3 })
        for tag in 0..<300 { pool.start(HTTPClientRequest(.post, server.url + "/\(tag)", body: [1]), tag: tag) }
        #expect(pool.inFlight == 300)
        #expect(Self.run(pool, server, until: 300).values.allSatisfy { (try? $0.get())?.status == 200 })
        #expect(server.connectionCount == 3)
        #expect(Set(server.requests.map { $0.prefix { $0 != "\r\n" } }).count == 300)
    }

    @Test func doesNotFollowRedirects() throws {
        let server = ScriptedServer { _ in .bytes("HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n") }
        let pool = HTTPPool(Self.options())
        pool.start(HTTPClientRequest(.get, server.url + "/"), tag: 0)
        let response = try #require(Self.run(pool, server, until: 1)[0]).get()
        #expect(response == HTTPClientResponse(status: 302))
        #expect(server.requests.count == 1)
    }

    @Test func wakeEndsTheWaitAndMayOutliveThePool() {
        var pool: HTTPPool? = HTTPPool(Self.options())
        guard let waker = pool?.waker else { return }
        let started = ContinuousClock.now
        waker.wake()
        waker.wake()
        pool?.wait(milliseconds: 60_000)
        _ = pool?.retire()
        waker.wake()
        pool?.wait(milliseconds: 60_000)
        #expect(started.duration(to: .now) < .seconds(30))
        pool = nil
        waker.wake()
    }

    @Test func wakesFromAnotherThread() async {
        let pool = HTTPPool(Self.options())
        let waker = pool.waker
        let started = ContinuousClock.now
        var thread = pthread_t()
        let context = Unmanaged.passRetained(waker).toOpaque()
        pthread_create(&thread, nil, Self.wake, context)
        pool.wait(milliseconds: 60_000)
        pthread_join(thread, nil)
        #expect(started.duration(to: .now) < .seconds(30))
    }

    private static let wake: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        if let context { Unmanaged<HTTPPool.Waker>.fromOpaque(context).takeRetainedValue().wake() }
        return nil
    }
}
