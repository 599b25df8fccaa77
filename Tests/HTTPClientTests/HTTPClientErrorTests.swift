import Testing

@testable import HTTPClient

@Suite struct HTTPClientErrorTests {
    /// libcurl's error codes that can occur before a request is written: bad protocol or URL (1, 3), name resolution
    /// (5, 6), connection and TLS (7, 35, 58, 60, 77, 91), HTTP/2 (16, 92), time-out (28), abort by a callback of ours
    /// (42), lost connection (52, 55, 56).
    @Test(arguments: [1, 3, 5, 6, 7, 16, 28, 35, 42, 52, 55, 56, 58, 60, 77, 91, 92] as [UInt32])
    func unwrittenRequestIsNotSent(code: UInt32) {
        #expect(HTTPClientError(code: code, text: "text", writes: 0) == .notSent("text"))
    }

    /// The codes include 7 (connection refused): libcurl may lose the connection on which it wrote the request, open
    /// another, and find that one refused.
    @Test(arguments: [7, 18, 23, 35, 42, 52, 55, 56, 92, 95] as [UInt32])
    func writtenRequestIsLost(code: UInt32) {
        #expect(HTTPClientError(code: code, text: "text", writes: 1) == .lost("text"))
    }

    @Test func goAwayAfterOneWriteMeansNotSentAndATimeOutMeansTimedOut() {
        #expect(HTTPClientError(code: 16, text: "text", writes: 1) == .notSent("text"), "CURLE_HTTP2: GOAWAY")
        #expect(
            HTTPClientError(code: 16, text: "text", writes: 2) == .lost("text"), "the first write may have been processed")
        #expect(HTTPClientError(code: 28, text: "text", writes: 1) == .timedOut)
    }

    @Test(arguments: [
        ("retry-after: Sat, 21 Nov 2026 10:00:00 GMT\r\n", "retry-after", "Sat, 21 Nov 2026 10:00:00 GMT"),
        ("RETRY-AFTER:now\r\n", "retry-after", "now"), ("Retry-After:  \t7 \r\n", "retry-after", "7"),
        ("apns-id: A\n", "apns-id", "A"), ("APNs-Id:\r\n", "apns-id", ""),
    ]) func parsesKeptHeaders(line: String, name: String, value: String) {
        let parsed = Array(line.utf8).withUnsafeBytes { HTTPClientResponse.Header.parse($0) }
        #expect(parsed?.header.rawValue == name)
        #expect(parsed?.value == value)
    }

    @Test(arguments: [
        "", "\r\n", "HTTP/2 200 \r\n", "date", "dates: x\r\n", "dat: x\r\n", "data: x\r\n", " date: x\r\n", "date : x\r\n",
        "set-cookie: a=b\r\n", "x-apns-id: a\r\n", "apns_id: a\r\n", ": x\r\n",
    ]) func ignoresOtherLines(line: String) {
        #expect(Array(line.utf8).withUnsafeBytes { HTTPClientResponse.Header.parse($0) } == nil)
    }

    @Test func parsesEveryKeptHeader() {
        for header in HTTPClientResponse.Header.allCases {
            #expect(Array("\(header.rawValue): x".utf8).withUnsafeBytes { HTTPClientResponse.Header.parse($0)?.header } == header)
        }
    }
}
