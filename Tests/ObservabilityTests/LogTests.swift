import FoundationEssentials
import Observability
import Primitives
import Testing
import Threads

@Suite struct LogTests {
    /// The lines that `body` logs.
    private func lines(level: Log.Level = .debug, format: Log.Format = .json, _ body: (Log) -> Void) -> [String] {
        let lines = Lock<[String]>([])
        body(Log(level: level, format: format) { line in lines.withLock { $0.append(line) } })
        return lines.withLock { $0 }
    }

    /// A field, decoded from JSON.
    private enum Field: Decodable, Equatable {
        case text(String)
        case number(Int)

        var text: String? { if case .text(let text) = self { text } else { nil } }

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let number = try? value.decode(Int.self) {
                self = .number(number)
            } else {
                self = .text(try value.decode(String.self))
            }
        }
    }

    private func fields(_ line: String) throws -> [String: Field] {
        try JSONDecoder().decode([String: Field].self, from: Data(line.utf8))
    }

    // MARK: Levels

    @Test(arguments: Log.Level.allCases) func dropsRecordsBelowItsLevel(level least: Log.Level) throws {
        let lines = lines(level: least) { log in
            log.debug("at-debug")
            log.info("at-info")
            log.warning("at-warning")
            log.error("at-error")
        }
        let expected = Log.Level.allCases.drop { $0.rawValue < least.rawValue }
        #expect(try lines.map { try fields($0)["level"] } == expected.map { .text("\($0)") })
        #expect(try lines.map { try fields($0)["event"] } == expected.map { .text("at-\($0)") })
    }

    @Test func ordersLevelsBySeverity() {
        #expect(Log.Level.allCases == [.debug, .info, .warning, .error])
        #expect(Log.Level.allCases.map(\.rawValue) == [0, 1, 2, 3])
    }

    // MARK: JSON

    /// Plain texts are appended whole, others scalar by scalar: every ASCII character must come out right either way.
    @Test(arguments: 0..<128) func quotesEachCharacter(code: Int) throws {
        let character = try #require(UnicodeScalar(code)).description
        for text in [character, "plain \(character)", "\(character)é"] {
            let line = try #require(lines { $0.info("event", ["text": .text(text)]) }.first)
            #expect(try fields(line)["text"] == .text(text))
            #expect(line.dropLast().unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
            let isPlain = code >= 0x20 && code != 0x7F && character != "\"" && character != "\\"
            #expect(line.hasSuffix(":\"\(text)\"}\n") == isPlain)
        }
    }

    @Test func writesFieldsInOrder() throws {
        let line = try #require(
            lines { $0.info("started", ["port": 6001, "host": "127.0.0.1", "missing": "", "change": -7]) }.first)
        let time = String(line.dropFirst(#"{"time":""#.count).prefix(24))
        let fields = #""level":"info","event":"started","port":6001,"host":"127.0.0.1","missing":"","change":-7"#
        #expect(line == #"{"time":"\#(time)",\#(fields)}"# + "\n")
    }

    @Test func writesTheTimeOfTheRecord() throws {
        let before = Timestamp.iso8601(milliseconds: Clock.unixMilliseconds())
        let line = try #require(lines { $0.info("now") }.first)
        let after = Timestamp.iso8601(milliseconds: Clock.unixMilliseconds())
        let time = try #require(try fields(line)["time"]?.text)
        #expect((before...after).contains(time))
    }

    @Test func acceptsInterpolatedStringsAndNumbers() throws {
        let count = 3
        let line = try #require(lines { $0.info("e", ["a": "\(count) of \(4)", "b": .number(count), "c": .text("x")]) }.first)
        let fields = try fields(line)
        #expect(fields["a"] == .text("3 of 4") && fields["b"] == .number(3) && fields["c"] == .text("x"))
    }

    @Test(arguments: [Int.max, Int.min, 0, -1]) func writesAnyNumber(number: Int) throws {
        let line = try #require(lines { $0.info("e", ["n": .number(number)]) }.first)
        #expect(try fields(line)["n"] == .number(number))
    }

    static let hostile =
        [
            "", "\"", "\\", "\\\"", "\\n", "a\"b\\c", #"{"event":"x"}"#, "\",\"level\":\"error", "\n", "\r\n", "\n\n", "\t", "\0",
            "\u{7F}", "\u{85}", "\u{2028}\u{2029}", "é😀", "e\u{301}", "\"\u{301}", "\\\u{301}", "\n\u{301}", "\u{FEFF}",
            "\u{202E}x", "/", "</script>", String(repeating: "\0", count: 1_000),
        ] + (0..<0x20).map { "<\(Unicode.Scalar(UInt8($0)))>" }

    /// A record is one line even if it contains any text that a client may send, and decoding returns that text.
    @Test(arguments: hostile) func hostileTextStaysOnOneLineAndDecodes(text: String) throws {
        let lines = lines { log in
            log.info(text, ["field": .text(text), "end": 1])
            log.info("e", [text: 7])
        }
        #expect(lines.count == 2)
        for line in lines {
            #expect(line.utf8.last == 0x0A && line.utf8.dropLast().allSatisfy { $0 >= 0x20 })
        }
        let first = try fields(lines[0])
        // Compared as bytes, because `==` treats canonically equivalent strings as equal.
        #expect(first["event"]?.text.map { Array($0.utf8) } == Array(text.utf8))
        #expect(first["field"]?.text.map { Array($0.utf8) } == Array(text.utf8))
        #expect(first["end"] == .number(1) && first.count == 5)
        #expect(try fields(lines[1])[text] == .number(7))
    }

    @Test func escapesControlCharacters() throws {
        let line = try #require(lines { $0.info("\u{0}\u{9}\u{a}\u{d}\u{f}\u{10}\u{1f} \"\\/") }.first)
        #expect(line.hasSuffix(#","level":"info","event":"\u0000\u0009\u000a\u000d\u000f\u0010\u001f \"\\/"}"# + "\n"))
    }

    // MARK: Text

    @Test func writesTextFormat() throws {
        let lines = lines(format: .text) { log in
            log.debug("bare")
            log.warning("slow-consumer", ["socket_id": "1.2", "bytes": 1_048_576, "note": "two words, \"quoted\"\n"])
        }
        #expect(
            lines.map { String($0.dropFirst(24)) } == [
                " debug bare\n",
                #" warning slow-consumer socket_id="1.2" bytes=1048576 note="two words, \"quoted\"\u000a""# + "\n",
            ])
        #expect(lines.allSatisfy { $0.prefix(24).last == "Z" })
    }

    @Test func leavesOutAbsentFields() {
        let lines = Lock<[String]>([])
        for format in [Log.Format.json, .text] {
            let log = Log(level: .info, format: format) { line in lines.withLock { $0.append(line) } }
            log.info("e", ["a": .optional(nil), "b": .optional("x"), "c": .absent, "d": 1])
        }
        let (json, text) = lines.withLock { ($0[0], $0[1]) }
        #expect(json.hasSuffix(#""event":"e","b":"x","d":1}"# + "\n"))
        #expect(text.hasSuffix("info e b=\"x\" d=1\n"))
    }
}
