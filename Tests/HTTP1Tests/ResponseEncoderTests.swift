import HTTP
import HTTP1
import Testing

@Suite struct ResponseEncoderTests {
    private func bytes(
        _ response: HTTPResponse, withoutBody: Bool = false, connection: ResponseEncoder.Connection = .persistent
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        ResponseEncoder.write(response, to: &bytes, correlationID: "c1", withoutBody: withoutBody, connection: connection)
        return bytes
    }

    private func written(
        _ response: HTTPResponse, withoutBody: Bool = false, connection: ResponseEncoder.Connection = .persistent
    ) -> String {
        String(decoding: bytes(response, withoutBody: withoutBody, connection: connection), as: UTF8.self)
    }

    @Test func writesStatusHeadersAndBody() {
        #expect(
            written(.emptyObject)
                == "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nX-Correlation-ID: c1\r\n\r\n{}"
        )
        #expect(
            written(.text(401, "Unknown auth_key"))
                == "HTTP/1.1 401 Unauthorized\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 17\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nX-Correlation-ID: c1\r\n\r\nUnknown auth_key\n"
        )
    }

    @Test func omitsTheBodyForHEAD() {
        #expect(
            written(.text(200, "ok"), withoutBody: true)
                == "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nX-Correlation-ID: c1\r\n\r\n"
        )
    }

    @Test func writesConnectionCloseIfClosing() {
        #expect(
            written(.json(503, "{}".utf8), connection: .close)
                == "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nX-Correlation-ID: c1\r\nConnection: close\r\n\r\n{}"
        )
    }

    @Test func writesAdditionalHeadersInOrder() {
        let response = HTTPResponse.text(
            426, "No", headers: ["Upgrade": "websocket", "Allow": "GET, HEAD", "Connection": "Upgrade"])
        #expect(
            written(response)
                == "HTTP/1.1 426 Upgrade Required\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nUpgrade: websocket\r\nAllow: GET, HEAD\r\nConnection: Upgrade\r\nX-Correlation-ID: c1\r\n\r\nNo\n"
        )
    }

    @Test func contentLengthIsInBytes() {
        #expect(
            written(.text(400, "é😀"))
                == "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 7\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nX-Correlation-ID: c1\r\n\r\né😀\n"
        )
    }

    @Test func writesBinaryAndEmptyBodies() {
        #expect(
            bytes(HTTPResponse(200, contentType: "a/b", body: [0, 255, 13, 10])) == Array(
                "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 4\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nX-Correlation-ID: c1\r\n\r\n"
                    .utf8) + [
                    0, 255, 13, 10,
                ])
        #expect(
            written(HTTPResponse(200, contentType: "a/b", body: []))
                == "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 0\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nX-Correlation-ID: c1\r\n\r\n"
        )
    }

    @Test func appendsToTheBuffer() {
        var bytes = Array("before".utf8)
        for _ in 0..<2 {
            ResponseEncoder.write(.emptyObject, to: &bytes, correlationID: "c1", withoutBody: false, connection: .persistent)
        }
        let one = written(.emptyObject)
        #expect(String(decoding: bytes, as: UTF8.self) == "before" + one + one)
    }

    static let reasons: [(status: Int, reason: String)] = [
        (200, "OK"), (400, "Bad Request"), (401, "Unauthorized"), (403, "Forbidden"), (404, "Not Found"),
        (405, "Method Not Allowed"), (408, "Request Timeout"), (409, "Conflict"), (411, "Length Required"),
        (413, "Content Too Large"),
        (426, "Upgrade Required"), (429, "Too Many Requests"), (431, "Request Header Fields Too Large"), (501, "Not Implemented"),
        (500, "Internal Server Error"), (503, "Service Unavailable"), (505, "HTTP Version Not Supported"),
        // Any other status.
        (299, "Unknown"),
    ]

    @Test(arguments: reasons) func writesTheReasonPhrase(status: Int, reason: String) {
        #expect(written(.json(status, "".utf8)).hasPrefix("HTTP/1.1 \(status) \(reason)\r\nContent-Type: "))
    }

    @Test func writesA204WithoutAnythingThatDescribesABody() {
        #expect(
            written(HTTPResponse(204, contentType: "a/b", body: [1], headers: ["A": "b"]))
                == "HTTP/1.1 204 No Content\r\nA: b\r\nX-Correlation-ID: c1\r\n\r\n")
    }

    @Test func confirmsKeepAliveOnlyToHTTP10() {
        #expect(written(.emptyObject, connection: .keepAlive).contains("\r\nConnection: keep-alive\r\n\r\n{}"))
    }

    @Test func writesInterimAndSwitchingResponses() {
        var bytes: [UInt8] = []
        ResponseEncoder.writeContinue(to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
        bytes = []
        ResponseEncoder.writeSwitchingProtocols(accept: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
        )
    }
}
