import HTTP1
import TestSupport
import Testing

@Suite struct ChunkedDecoderTests {
    private enum Outcome: Equatable {
        case incomplete
        /// The body, and what follows it.
        case body(String, rest: String)
        case status(Int)
    }

    /// Decodes pieces that end at these offsets, as a caller does: it keeps the body and appends the next piece.
    private func decode(_ text: String, max: Int = 100, cuts: [Int] = []) -> Outcome {
        let bytes = Array(text.utf8)
        var decoder = ChunkedDecoder(bodyBytesMax: max)
        var buffer: [UInt8] = []
        var start = 0
        for end in cuts + [bytes.count] {
            buffer += bytes[start..<end]
            start = end
            switch buffer.withUnsafeMutableBytes({ decoder.decode($0) }) {
            case .incomplete: buffer.removeLast(buffer.count - decoder.bodyCount)
            case .complete(let consumed):
                let rest = String(decoding: buffer[consumed...] + bytes[end...], as: UTF8.self)
                return .body(String(decoding: buffer[..<decoder.bodyCount], as: UTF8.self), rest: rest)
            case .invalid(let error): return .status(error.status)
            }
        }
        return .incomplete
    }

    static let valid: [(text: String, body: String)] = [
        ("0\r\n\r\n", ""), ("5\r\nhello\r\n0\r\n\r\n", "hello"), ("1\r\na\r\n2\r\nbc\r\n000\r\n\r\n", "abc"),
        ("a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n", "01234567890123456789a"),
        ("3;a=b;c=\"d\t e\"\r\nabc\r\n0;x\r\n\r\n", "abc"), ("2;\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
        ("1\r\na\r\n0\r\nA: b\r\nC-D:\te é\r\nE:\r\n\r\n", "a"), ("0000000000000001\r\na\r\n0\r\n\r\n", "a"),
    ]

    static let invalid: [(text: String, status: Int)] = [
        ("\r\n", 400), ("g\r\n", 400), ("-1\r\n", 400), ("+1\r\n", 400), ("0x1\r\n", 400), (" 1\r\n", 400), ("1 \r\n", 400),
        ("1 ;a\r\n", 400), (";a\r\n", 400), ("1\n", 400), ("1\ra", 400), ("1;a\n", 400), ("1;a\rb", 400), ("1;\0", 400),
        ("1\r\nab", 400), ("1\r\na\n", 400), ("1\r\na\rb", 400), ("1\r\na\r\n\r\n", 400), ("00000000000000001\r\n", 400),
        ("65\r\n", 413), ("ffffffffffffffff\r\n", 413), ("8000000000000000", 413), ("7fffffffffffffff", 413),
        ("60\r\n" + String(repeating: "a", count: 96) + "\r\n5\r\n", 413),
        ("0\r\n\n", 400), ("0\r\n\r\r", 400), ("0\r\nA\r\n", 400), ("0\r\n: b\r\n", 400), ("0\r\nA : b\r\n", 400),
        ("0\r\n A: b\r\n", 400), ("0\r\nA: b\n", 400), ("0\r\nA: b\rc", 400), ("0\r\nA: b\r\n c", 400), ("0\r\nA: \0", 400),
    ]

    @Test(arguments: valid) func joinsTheChunks(_ text: String, body: String) {
        #expect(decode(text) == .body(body, rest: ""))
        #expect(decode(text + "GET /") == .body(body, rest: "GET /"))
    }

    @Test(arguments: invalid) func rejects(_ text: String, status: Int) { #expect(decode(text) == .status(status)) }

    @Test func aBodyMayHaveTheMaximumSize() {
        let body = String(repeating: "a", count: 100)
        #expect(decode("32\r\n\(body.prefix(50))\r\n32\r\n\(body.prefix(50))\r\n0\r\n\r\n") == .body(body, rest: ""))
        #expect(decode("0\r\n\r\n", max: 0) == .body("", rest: ""))
        #expect(decode("1\r\n", max: 0) == .status(413))
    }

    @Test func discardedBytesAreLimited() {
        let max = ChunkedDecoder.discardedBytesMax
        func filler(_ count: Int) -> String { String(repeating: "x", count: count) }
        #expect(decode("0;\(filler(max))\r\n\r\n") == .body("", rest: ""))
        #expect(decode("0;\(filler(max + 1))\r\n\r\n") == .status(400))
        // The limit is one on all extensions together.
        #expect(decode("1;\(filler(max / 2))\r\na\r\n0;\(filler(max / 2 + 1))\r\n\r\n") == .status(400))
        #expect(decode("0\r\nA:\(filler(max - 5))\r\n\r\n") == .body("", rest: ""))
        #expect(decode("0\r\nA:\(filler(max - 4))\r\n\r\n") == .status(431))
    }

    @Test func anySplitGivesTheSameResult() {
        for text in Self.valid.map({ $0.text + "GET /" }) + Self.invalid.map(\.text) {
            let count = text.utf8.count
            let whole = decode(text)
            for cut in 0..<count { #expect(decode(text, cuts: [cut]) == whole, "\(text) cut at \(cut)") }
            #expect(decode(text, cuts: Array(0..<count)) == whole, "\(text)")
        }
    }

    @Test func aBodyIsIncompleteUntilItsLastByte() {
        for (text, _) in Self.valid {
            for end in 0..<text.utf8.count {
                #expect(decode(String(decoding: text.utf8.prefix(end), as: UTF8.self)) == .incomplete)
            }
        }
    }

    @Test(arguments: 0..<20) func randomChunksAreJoined(seed: Int) {
        var random = SplitMix(seed: UInt64(seed))
        for _ in 0..<50 {
            var (body, text) = ("", "")
            for _ in 0..<random.below(6) {
                let chunk = String(repeating: random.pick(["a", "\r", "\n", "0"]) ?? "", count: random.within(1...40))
                body += chunk
                text += String(chunk.utf8.count, radix: 16) + (random.chance(percent: 30) ? ";x" : "") + "\r\n" + chunk + "\r\n"
            }
            text += "0\r\n\r\nrest"
            let cuts = (0..<random.below(8)).map { _ in random.below(text.utf8.count) }.sorted()
            #expect(decode(text, max: 1_000, cuts: cuts) == .body(body, rest: "rest"), "\(cuts)")
        }
    }
}
