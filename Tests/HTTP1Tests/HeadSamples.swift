/// Requests that several tests use: each is the head of one request.
enum HeadSamples {
    /// Valid heads.
    static let valid = [
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: x\r\nConnection: Keep-Alive\r\n\r\n",
        "POST /apps/1/events?auth_key=k&b=%2c+%41 HTTP/1.1\r\nhost: a.b:80\r\nCONTENT-LENGTH: 12\r\n\r\n",
        "GET http://a.b/c?d HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET HTTPS://[::1]:8443 HTTP/1.1\r\nHost:\r\n\r\n",
        "PUT /%C3%BC/%F0%9F%98%80/+ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\nExpect: 100-Continue\r\n\r\n",
        "GET /app/key?protocol=7 HTTP/1.1\r\nHost: x\r\nUpgrade: h2c, WebSocket\r\nConnection: keep-alive, \tUpgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1\r\nA: \tb\tc \r\nX-Forwarded-For: 2\r\nB:\r\nConnection: ,close,\r\n\r\n",
        "DELETE /very/long/path/of/many/segments?with=a&long=query&of=many&parameters=1 HTTP/1.1\r\nHost: x\r\nA: é\r\n\r\n",
    ]

    /// Heads that are rejected, with the status.
    static let invalid: [(head: String, status: Int)] = requestLines + fieldLines + framing

    private static let requestLines: [(head: String, status: Int)] = [
        // Separators and line ends.
        ("GET  / HTTP/1.1\r\n", 400), ("GET /  HTTP/1.1\r\n", 400), (" GET / HTTP/1.1\r\n", 400),
        ("GET / HTTP/1.1 \r\n", 400), ("GET\t/ HTTP/1.1\r\n", 400), ("GET /a b HTTP/1.1\r\n", 400),
        ("GET / HTTP/1.1\n", 400), ("GET / HTTP/1.1\r\r\n", 400), ("GET / HTTP/1.1\rHost: x\r\n", 400),
        ("\nGET / HTTP/1.1\r\n", 400), ("\r\n\r\nGET / HTTP/1.1\r\n", 400), ("\rGET / HTTP/1.1\r\n", 400),
        ("GET /\r\n", 400), ("GET\r\n", 400), ("GET HTTP/1.1\r\n", 400), ("GET  HTTP/1.1\r\n", 400), ("x\r\n", 400),
        // Methods.
        ("BREW / HTTP/1.1\r\n", 501), ("get / HTTP/1.1\r\n", 501), ("GETS / HTTP/1.1\r\n", 501), ("GE / HTTP/1.1\r\n", 501),
        ("TRACE / HTTP/1.1\r\n", 501), ("G(T / HTTP/1.1\r\n", 400), ("G\0T / HTTP/1.1\r\n", 400), ("/ HTTP/1.1\r\n", 400),
        ("É / HTTP/1.1\r\n", 400), ("CONNECT /a HTTP/1.1\r\n", 501),
        // Versions.
        ("GET / HTTP/2.0\r\n", 505), ("GET / HTTP/1.2\r\n", 505), ("GET / HTTP/0.9\r\n", 505), ("GET / HTTP/9.9\r\n", 505),
        ("PRI /x HTTP/2.0\r\n", 505), ("GET / http/1.1\r\n", 400), ("GET / HTTP/1.10\r\n", 400), ("GET / HTTP/1,1\r\n", 400),
        ("GET / HTTP/11\r\n", 400), ("GET / HTTP/1.x\r\n", 400), ("GET / HTTP/x.1\r\n", 400), ("GET / JUNK/1.1\r\n", 400),
        // Targets.
        ("GET * HTTP/1.1\r\n", 400), ("OPTIONS * HTTP/1.1\r\n", 400), ("CONNECT a:80 HTTP/1.1\r\n", 400),
        ("GET a HTTP/1.1\r\n", 400), ("GET ?a HTTP/1.1\r\n", 400), ("GET ftp://a/b HTTP/1.1\r\n", 400),
        ("GET http:///b HTTP/1.1\r\n", 400), ("GET http:// HTTP/1.1\r\n", 400), ("GET http:/a HTTP/1.1\r\n", 400),
        ("GET http://a@b/c HTTP/1.1\r\n", 400), ("GET http://a\\b/c HTTP/1.1\r\n", 400), ("GET http://a#/c HTTP/1.1\r\n", 400),
        ("GET /a#b HTTP/1.1\r\n", 400), ("GET /a?b#c HTTP/1.1\r\n", 400), ("GET /é HTTP/1.1\r\n", 400),
        ("GET /\u{7F} HTTP/1.1\r\n", 400), ("GET /a\u{1}b HTTP/1.1\r\n", 400), ("GET /a\tb HTTP/1.1\r\n", 400),
        ("GET /% HTTP/1.1\r\n", 400), ("GET /%4 HTTP/1.1\r\n", 400), ("GET /%4g HTTP/1.1\r\n", 400),
        ("GET /%zz HTTP/1.1\r\n", 400), ("GET /a%00 HTTP/1.1\r\n", 400), ("GET /?%00 HTTP/1.1\r\n", 400),
        ("GET /?a=% HTTP/1.1\r\n", 400), ("GET /?a=%1 HTTP/1.1\r\n", 400), ("GET /%%20 HTTP/1.1\r\n", 400),
        ("GET /%FF HTTP/1.1\r\n", 400), ("GET /%C3/%BC HTTP/1.1\r\n", 400), ("GET /%ED%A0%80 HTTP/1.1\r\n", 400),
        ("GET /%C0%AF HTTP/1.1\r\n", 400),
    ]

    private static let fieldLines: [(head: String, status: Int)] = [
        "A", "A b: c", ": x", "A : b", "A\t: b", " A: b", "\tA: b", "A: b\r\n c", "A: b\r\n\tc", "A(: b", "É: b", "A\0: b",
        "A: b\u{1}", "A: b\0c", "A: b\u{7F}", "A: \u{B}", "A: b\rB: c", "A: b\nB: c", "A: b\n", "@: b",
        "Host: y", "Authorization: a\r\nAuthorization: a", "Origin: a\r\norigin: b", "Cookie: a\r\nCookie: b",
        "Sec-WebSocket-Key: a\r\nSec-WebSocket-Key: a", "Content-Type: a\r\nContent-Type: a",
        "Content-Length: 1\r\nContent-Length: 1", "Content-Length: 1\r\nContent-Length: 2",
    ].map { ("GET / HTTP/1.1\r\nHost: x\r\n\($0)\r\n\r\n", 400) }

    private static let framing: [(head: String, status: Int)] =
        [
            ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHos: x\r\n\r\n", 400),
            ("GET http://x/ HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: é\r\n\r\n", 400),
            ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ]
        + ["", "-1", "+2", "2 2", "2,2", "2, 2", "0x2", "2.0", "x", "1234567890123456789", "18446744073709551618", "٣"].map {
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \($0)\r\n\r\n", 400)
        }
        + [
            "Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Content-Length: 5\r\nTransfer-Encoding: identity", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        ].map { ("POST / HTTP/1.1\r\nHost: x\r\n\($0)\r\n\r\n", 400) }
        + ["gzip", "gzip, chunked", "identity", "xchunked", "chunked, chunked", "chunked;q=1", "", "chunke", "\"chunked\""].map {
            ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \($0)\r\n\r\n", 501)
        }
}
