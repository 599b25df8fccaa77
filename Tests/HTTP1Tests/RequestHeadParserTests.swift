import HTTP
import HTTP1
import TestSupport
import Testing

@Suite struct RequestHeadParserTests {
    /// What a parser says after it has got the bytes in pieces that end at these offsets.
    private func parse(_ bytes: [UInt8], cuts: [Int] = []) -> RequestHeadParser.Result {
        var parser = RequestHeadParser()
        for end in cuts + [bytes.count] {
            // A copy, so that a range that refers to another buffer is found by AddressSanitizer.
            let result = Array(bytes[..<end]).withUnsafeBytes { parser.parse($0) }
            guard case .incomplete = result else { return result }
        }
        return .incomplete
    }

    /// The status that a parser with another limit answers a text with; nil if it accepts it.
    private func status(_ text: String, headBytesMax: Int) -> Int? {
        var parser = RequestHeadParser(headBytesMax: headBytesMax)
        let result = Array(text.utf8).withUnsafeBytes { parser.parse($0) }
        return if case .invalid(let error) = result { error.status } else { nil }
    }

    private func head(_ text: String) throws -> RequestHead {
        let result = parse(Array(text.utf8))
        guard case .complete(let head) = result else { throw RequestError(0, "\(result)") }
        return head
    }

    private func status(_ text: String) -> Int? {
        if case .invalid(let error) = parse(Array(text.utf8)) { error.status } else { nil }
    }

    private func text(_ range: ByteRange?, _ source: String) -> String? {
        range.map { String(decoding: Array(source.utf8)[Int($0.lowerBound)..<Int($0.upperBound)], as: UTF8.self) }
    }

    /// All of a result, as text that can be compared.
    private func summary(_ result: RequestHeadParser.Result) -> String {
        switch result {
        case .incomplete: "incomplete"
        case .invalid(let error): "\(error.status) \(error.text)"
        case .complete(let head):
            "\(head.method) \(head.path) \(head.query) \(head.isHTTP11) \(head.bodyFraming) \(head.keepsAlive) \(head.expectsContinue) "
                + "\(head.isWebSocketUpgrade) \(head.hasRepeatedFields) \(head.byteCount) "
                + HTTPRequest.Field.allCases.map { head[$0].map { "\($0)" } ?? "-" }.joined(separator: " ")
        }
    }

    // MARK: Valid heads

    @Test(arguments: HeadSamples.valid) func acceptsAndEndsAtTheEmptyLine(_ text: String) throws {
        #expect(try head(text).byteCount == text.utf8.count)
        #expect(try head(text + "GET /next HTTP/1.1\r\n").byteCount == text.utf8.count)
    }

    @Test func findsMethodPathAndQuery() throws {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let source = "\(method) /a%20b?c=d?e HTTP/1.1\r\nHost: x\r\n\r\n"
            let head = try head(source)
            #expect(head.method.rawValue == method && head.isHTTP11)
            #expect(text(head.path, source) == "/a%20b" && text(head.query, source) == "c=d?e")
        }
        for (target, path, query) in [("/", "/", ""), ("/?", "/", ""), ("/??", "/", "?"), ("//a", "//a", "")] {
            let source = "GET \(target) HTTP/1.0\r\n\r\n"
            let head = try head(source)
            #expect(text(head.path, source) == path && text(head.query, source) == query && !head.isHTTP11)
        }
    }

    @Test func hostOfAnAbsoluteTargetReplacesTheField() throws {
        for (target, path, query) in [
            ("http://a.b:80/c/d?e", "/c/d", "e"), ("HTTPS://a.b:80", "/", ""), ("http://a.b:80?e", "/", "e"),
            ("http://a.b:80/", "/", ""),
        ] {
            let source = "GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n"
            let head = try head(source)
            #expect(text(head.path, source) == path && text(head.query, source) == query, "\(target)")
            #expect(text(head[.host], source) == "a.b:80")
        }
    }

    @Test func findsFieldsWithoutSurroundingWhiteSpace() throws {
        let source = "GET / HTTP/1.1\r\nHOST:x\r\nCookie: \t a \tb\t \r\nif-match:\r\nX-Other: y\r\n\r\n"
        let head = try head(source)
        #expect(text(head[.host], source) == "x" && text(head[.cookie], source) == "a \tb" && text(head[.ifMatch], source) == "")
        #expect(head[.origin] == nil && !head.hasRepeatedFields)
    }

    @Test(arguments: HTTPRequest.Field.allCases) func onlyListFieldsMayRepeat(_ field: HTTPRequest.Field) throws {
        let line = "\(field.name): 1\r\n"
        let source = "GET / HTTP/1.1\r\n\(field == .host ? "" : "Host: x\r\n")\(line)\(line)\r\n"
        if field.mayRepeat {
            let head = try head(source)
            #expect(head.hasRepeatedFields && text(head[field], source) == "1")
        } else {
            #expect(status(source) == 400)
        }
    }

    @Test func lengthAndChunkedFrameTheBody() throws {
        func framing(_ lines: String) throws -> RequestHead.BodyFraming {
            try head("POST / HTTP/1.1\r\nHost: x\r\n\(lines)\r\n").bodyFraming
        }
        #expect(try framing("") == .none)
        #expect(try framing("Content-Length: 0\r\n") == .length(0))
        #expect(try framing("Content-Length: 00123 \r\n") == .length(123))
        #expect(try framing("Content-Length: 999999999999999999\r\n") == .length(999_999_999_999_999_999))
        #expect(try framing("Transfer-Encoding: \tCHUNKED\r\n") == .chunked)
    }

    @Test func connectionListDecidesWhetherTheConnectionIsKept() throws {
        for (version, lines, keeps) in [
            ("1.1", "", true), ("1.1", "Connection: close\r\n", false), ("1.1", "Connection: a, CLOSE\r\n", false),
            ("1.1", "Connection: closed\r\n", true), ("1.1", "Connection: keep-alive, close\r\n", false),
            ("1.1", "Connection: a\r\nConnection: close\r\n", false), ("1.0", "", false),
            ("1.0", "Connection: Keep-Alive\r\n", true), ("1.0", "Connection: keep-alive,close\r\n", false),
            ("1.0", "Connection: a\r\nConnection: keep-alive\r\n", true),
        ] {
            #expect(try head("GET / HTTP/\(version)\r\nHost: x\r\n\(lines)\r\n").keepsAlive == keeps, "\(version) \(lines)")
        }
    }

    @Test func upgradeNeedsBothLists() throws {
        for (lines, upgrades) in [
            ("Connection: Upgrade\r\nUpgrade: websocket\r\n", true),
            ("Connection: keep-alive,upgrade\r\nUpgrade: h2c , WebSocket\r\n", true),
            ("Connection: keep-alive\r\nConnection: upgrade\r\nUpgrade: a\r\nUpgrade: websocket\r\n", true),
            ("Connection: Upgrade\r\n", false), ("Upgrade: websocket\r\n", false),
            ("Connection: Upgrade\r\nUpgrade: h2c\r\n", false), ("Connection: Upgrades\r\nUpgrade: websocket\r\n", false),
            ("Connection: Upgrade\r\nUpgrade: websocket/13\r\n", false), ("Connection: websocket\r\nUpgrade: upgrade\r\n", false),
        ] {
            #expect(try head("GET / HTTP/1.1\r\nHost: x\r\n\(lines)\r\n").isWebSocketUpgrade == upgrades, "\(lines)")
        }
    }

    @Test func onlyHTTP11ExpectsContinue() throws {
        #expect(try head("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\n\r\n").expectsContinue)
        #expect(try head("PUT / HTTP/1.1\r\nHost: x\r\nExpect: other\r\n\r\n").expectsContinue == false)
        #expect(try head("PUT / HTTP/1.0\r\nHost: x\r\nExpect: 100-continue\r\n\r\n").expectsContinue == false)
    }

    // MARK: Invalid heads and limits

    @Test(arguments: HeadSamples.invalid) func rejects(_ text: String, status expected: Int) {
        #expect(status(text) == expected)
    }

    @Test func everyByteIsCheckedInEveryPlace() {
        for byte in UInt8.min...UInt8.max {
            func isAccepted(_ before: String, _ after: String) -> Bool {
                guard case .complete = parse(Array(before.utf8) + [byte] + Array(after.utf8)) else { return false }
                return true
            }
            let isAlphanumeric = (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) && byte < 0x80
            let isToken = isAlphanumeric || Array("!#$%&'*+-.^_`|~".utf8).contains(byte)
            for padding in ["b", "bbbbbbbbb", "-bbbbbbbb", "bbb_bbbbbb"] {
                #expect(
                    isAccepted("GET / HTTP/1.1\r\nHost: x\r\nA\(padding)", "\(padding): c\r\n\r\n") == isToken
                        || byte == UInt8(ascii: ":"))
            }
            #expect(
                isAccepted("GET / HTTP/1.1\r\nHost: x\r\nA: bbbbbbbbbbbb", "c\r\n\r\n")
                    == (byte == 9 || byte >= 32 && byte != 127))
            let isHost = isAlphanumeric || Array("-._~%!$&'()*+,;=:[]".utf8).contains(byte)
            #expect(isAccepted("GET / HTTP/1.1\r\nHost: x", "x\r\n\r\n") == isHost)
            for padding in ["", "aaaaaaaaa"] {
                #expect(
                    isAccepted("GET /\(padding)", "\(padding) HTTP/1.1\r\nHost: x\r\n\r\n")
                        == ((0x21...0x7E).contains(byte) && byte != UInt8(ascii: "#") && byte != UInt8(ascii: "%")))
            }
        }
    }

    @Test func theLargestHeadIs16384Bytes() throws {
        let start = "GET / HTTP/1.1\r\nHost: x\r\nA: "
        func request(_ count: Int) -> String { start + String(repeating: "a", count: count - start.utf8.count - 4) + "\r\n\r\n" }
        #expect(try head(request(16_384) + "more").byteCount == 16_384)
        #expect(status(request(16_385)) == 431)
        #expect(status("GET /" + String(repeating: "a", count: 16_379)) == 431)
        #expect(status("GET /" + String(repeating: "a", count: 16_378)) == nil)
        for count in [4_096, 65_536] {
            #expect(status(request(count), headBytesMax: count) == nil && status(request(count + 1), headBytesMax: count) == 431)
        }
    }

    @Test func atMost100FieldsAreAccepted() throws {
        func request(_ count: Int) -> String {
            "GET / HTTP/1.1\r\nHost: x\r\n" + String(repeating: "a: b\r\n", count: count - 1) + "\r\n"
        }
        #expect(try head(request(100)).keepsAlive)
        #expect(status(request(101)) == 431)
    }

    @Test func controlCharactersAreRejectedAtOnce() {
        // A TLS handshake, SOCKS, the PROXY protocol's second version, and WebSocket frames.
        for bytes: [UInt8] in [[0x16, 3, 1], [5, 1, 0], Array("\r\n\r\n\0".utf8), Array("GET / HTTP/1.1\r\nA: \u{1}".utf8)] {
            guard case .invalid(let error) = parse(bytes) else {
                Issue.record("\(bytes) is not rejected")
                continue
            }
            #expect(error.status == 400)
        }
    }

    /// The response to a request that is refused early needs its origin, and a proxy's fields.
    @Test func tellsTheFieldsOfAnIncompleteHead() {
        let source = "GET /a HTTP/1.1\r\nX-Forwarded-For: 1\r\nX-Forwarded-For: 2\r\nOrigin: https://x\r\nForwarded"
        var parser = RequestHeadParser()
        Array(source.utf8).withUnsafeBytes { bytes in
            guard case .incomplete = parser.parse(bytes) else {
                Issue.record("the head is not complete")
                return
            }
            let empty = UnsafeRawBufferPointer(start: nil, count: 0)
            let request = HTTPRequest(head: parser.head, bytes: bytes, body: empty, correlationID: "", isLoopback: false)
            #expect(request.path == "/a" && request.origin == "https://x" && request.field(.xForwardedFor) == "1")
        }
    }

    @Test func tellsThePathOfAnInvalidRequest() {
        func path(_ source: String) -> String? {
            var parser = RequestHeadParser()
            _ = Array(source.utf8).withUnsafeBytes { parser.parse($0) }
            return text(parser.head.path, source)
        }
        #expect(path("POST /api/x HTTP/1.1\r\n\r\n") == "/api/x")
        #expect(path("POST /api/x HTTP/3.1\r\n\r\n") == "")
    }

    // MARK: Pieces

    @Test func anySplitGivesTheSameResult() {
        for text in HeadSamples.valid + HeadSamples.invalid.map(\.head) {
            let bytes = Array(text.utf8)
            let whole = summary(parse(bytes))
            for cut in 0..<bytes.count {
                #expect(summary(parse(bytes, cuts: [cut])) == whole, "\(text) cut at \(cut)")
            }
            #expect(summary(parse(bytes, cuts: Array(0..<bytes.count))) == whole)
        }
    }

    @Test func aHeadIsIncompleteUntilItsLastByte() {
        for text in HeadSamples.valid {
            for end in 0..<text.utf8.count {
                #expect(summary(parse(Array(text.utf8.prefix(end)))) == "incomplete", "\(text) cut at \(end)")
            }
        }
    }

    @Test(arguments: 0..<20) func mutatedHeadsGiveTheSameResultInPieces(seed: Int) {
        var random = SplitMix(seed: UInt64(seed))
        for _ in 0..<200 {
            var bytes = Array((random.pick(HeadSamples.valid) ?? "").utf8)
            for _ in 0...random.below(3) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            let cuts = (0..<random.below(6)).map { _ in random.below(bytes.count) }.sorted()
            #expect(summary(parse(bytes, cuts: cuts)) == summary(parse(bytes)), "\(bytes) cut at \(cuts)")
        }
    }
}
