import Testing

@testable import HTTP

@Suite struct HTTPResponseTests {
    private func written(_ response: HTTPResponse, withoutBody: Bool = false, closing: Bool = false) -> String {
        var bytes: [UInt8] = []
        response.write(to: &bytes, correlationID: "c1", withoutBody: withoutBody, closing: closing)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func writesStatusHeadersAndBody() {
        #expect(
            written(.emptyObject)
                == "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-Correlation-ID: c1\r\n\r\n{}")
        #expect(
            written(.text(401, "Unknown auth_key"))
                == "HTTP/1.1 401 Unauthorized\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 17\r\nX-Correlation-ID: c1\r\n\r\nUnknown auth_key\n"
        )
    }

    @Test func omitsTheBodyForHEAD() {
        #expect(
            written(.text(200, "ok"), withoutBody: true)
                == "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\nX-Correlation-ID: c1\r\n\r\n"
        )
    }

    @Test func writesConnectionCloseIfClosing() {
        #expect(
            written(.json(503, "{}".utf8), closing: true)
                == "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-Correlation-ID: c1\r\nConnection: close\r\n\r\n{}"
        )
    }

    @Test func writesAdditionalHeadersInOrder() {
        let response = HTTPResponse.text(
            426, "No", headers: ["Upgrade": "websocket", "Allow": "GET, HEAD", "Connection": "Upgrade"])
        #expect(
            written(response)
                == "HTTP/1.1 426 Upgrade Required\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\nUpgrade: websocket\r\nAllow: GET, HEAD\r\nConnection: Upgrade\r\nX-Correlation-ID: c1\r\n\r\nNo\n"
        )
    }

    @Test func contentLengthIsInBytes() {
        #expect(
            written(.text(400, "é😀"))
                == "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 7\r\nX-Correlation-ID: c1\r\n\r\né😀\n"
        )
    }

    @Test func writesBinaryAndEmptyBodies() {
        var bytes: [UInt8] = []
        HTTPResponse(200, contentType: "a/b", body: [0, 255, 13, 10]).write(
            to: &bytes, correlationID: "c1", withoutBody: false, closing: false)
        #expect(
            bytes == Array("HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 4\r\nX-Correlation-ID: c1\r\n\r\n".utf8) + [
                0, 255, 13, 10,
            ])
        #expect(
            written(HTTPResponse(200, contentType: "a/b", body: []))
                == "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 0\r\nX-Correlation-ID: c1\r\n\r\n")
    }

    @Test func appendsToTheBuffer() {
        var bytes = Array("before".utf8)
        HTTPResponse.emptyObject.write(to: &bytes, correlationID: "c1", withoutBody: false, closing: false)
        HTTPResponse.emptyObject.write(to: &bytes, correlationID: "c1", withoutBody: false, closing: false)
        let one = written(.emptyObject)
        #expect(String(decoding: bytes, as: UTF8.self) == "before" + one + one)
    }

    static let reasons: [(status: Int, reason: String)] = [
        (200, "OK"), (400, "Bad Request"), (401, "Unauthorized"), (403, "Forbidden"), (404, "Not Found"),
        (405, "Method Not Allowed"), (409, "Conflict"), (411, "Length Required"), (413, "Content Too Large"),
        (426, "Upgrade Required"), (431, "Request Header Fields Too Large"), (501, "Not Implemented"),
        (503, "Service Unavailable"),
        // Any other status.
        (299, "Unknown"),
    ]

    @Test(arguments: reasons) func writesTheReasonPhrase(status: Int, reason: String) {
        #expect(written(.json(status, "".utf8)).hasPrefix("HTTP/1.1 \(status) \(reason)\r\nContent-Type: "))
    }
}
