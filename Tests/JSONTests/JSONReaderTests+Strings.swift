import TestSupport
import Testing

@testable import JSON

/// The content of strings: UTF-8, escapes, and the scan of eight bytes at a time.
extension JSONReaderTests {
    /// An array of one string with `content` between its quotes.
    private static func array(_ content: [UInt8]) -> [UInt8] { Array(#"[""#.utf8) + content + Array(#""]"#.utf8) }

    /// The offset of the content in that array, in bytes.
    private static var contentStart: Int { 2 }

    // MARK: UTF-8

    /// The first and the last scalar of each row of Unicode's table 3-7, and some in between.
    static let scalars: [[UInt8]] = [
        [0x7F], [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xE0, 0xBF, 0xBF], [0xE1, 0x80, 0x80], [0xEC, 0xBF, 0xBF],
        [0xED, 0x80, 0x80], [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBF], [0xF0, 0x90, 0x80, 0x80],
        [0xF0, 0xBF, 0xBF, 0xBF], [0xF1, 0x80, 0x80, 0x80], [0xF3, 0xBF, 0xBF, 0xBF], [0xF4, 0x80, 0x80, 0x80],
        [0xF4, 0x8F, 0xBF, 0xBF], Array("é€😀\u{FEFF}\u{0301}".utf8),
    ]

    @Test(arguments: scalars) func acceptsEveryRowOfUTF8(scalar: [UInt8]) throws {
        let elements = try JSONValue.elements(of: Self.array(scalar))
        #expect(elements.map(\.text) == [String(decoding: scalar, as: UTF8.self)])
    }

    /// Ill-formed sequences, grouped by their defect.
    static let illFormed: [[UInt8]] = [
        [0x80], [0xBF],  // a continuation without a lead
        [0xC0, 0x80], [0xC0, 0xAF], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],  // overlong
        [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],  // overlong
        [0xED, 0xA0, 0x80], [0xED, 0xAF, 0xBF], [0xED, 0xB0, 0x80], [0xED, 0xBF, 0xBF],  // surrogates
        [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80],  // a surrogate pair (CESU-8)
        [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF7, 0xBF, 0xBF, 0xBF],  // past U+10FFFF
        [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], [0xFE], [0xFF],  // never UTF-8
        // In all following sequences a continuation is missing, or a byte is not a continuation.
        [0xC2], [0xC2, 0x7F], [0xC2, 0xC0], [0xDF, 0x00],
        [0xE1, 0x80], [0xE1, 0x80, 0x7F], [0xE1, 0x7F, 0x80], [0xE1, 0xC0, 0x80], [0xE1, 0x80, 0xC0],
        [0xF1, 0x80, 0x80], [0xF1, 0x80, 0x80, 0x7F], [0xF1, 0x80, 0x7F, 0x80], [0xF1, 0x7F, 0x80, 0x80],
        [0xF1, 0x80, 0x80, 0xC0], [0xF1, 0x80, 0xFF, 0x80],
    ]

    @Test(arguments: illFormed) func rejectsIllFormedUTF8AtItsFirstByte(sequence: [UInt8]) {
        let error = JSONError(problem: "invalid UTF-8", offset: Self.contentStart)
        #expect(throws: error) { try JSONValue.elements(of: Self.array(sequence)) }
        #expect(throws: error, "at the text's end") { try JSONValue.elements(of: Array(#"[""#.utf8) + sequence) }
        #expect(throws: JSONError(problem: "invalid UTF-8", offset: 2), "in a name") {
            try JSONValue.members(of: Array(#"{""#.utf8) + sequence + Array(#"":1}"#.utf8))
        }
    }

    @Test func validatesUTF8LikeTheStandardLibrary() {
        let tails: [[UInt8]] = [[], [0x80], [0x80, 0x80], [0xBF, 0x7F], [0x41]]
        for lead in UInt8(0x80)...0xFF {
            for second in UInt8(0x20)...0xFF where second != UInt8(ascii: "\"") && second != UInt8(ascii: "\\") {
                for tail in tails {
                    let sequence = [lead, second] + tail
                    let accepted = (try? JSONValue.elements(of: Self.array(sequence))) != nil
                    if accepted != (String(validating: sequence, as: UTF8.self) != nil) {
                        Issue.record("\(sequence): accepted \(accepted)")
                    }
                }
            }
        }
    }

    // MARK: Escapes

    @Test func decodesEveryEscape() throws {
        let cases: [(escaped: String, text: String)] = [
            (#"\""#, "\""), (#"\\"#, "\\"), (#"\/"#, "/"), (#"\b"#, "\u{8}"), (#"\f"#, "\u{C}"), (#"\n"#, "\n"), (#"\r"#, "\r"),
            (#"\t"#, "\t"), (#"\u0000"#, "\0"), (#"\u0041"#, "A"), (#"\u00e9"#, "é"), (#"\u20AC"#, "€"), (#"\uFFFF"#, "\u{FFFF}"),
            (#"\\u0041"#, #"\u0041"#), (#"\\\u0041"#, #"\A"#), (#"a\nb"#, "a\nb"), (#"\u0041\u0042c\u0044"#, "ABcD"),
            (#"\uD83D\uDE00"#, "😀"), (#"\ud83d\ude00"#, "😀"), (#"x\uD83D\uDE00\uD83D\uDE00y"#, "x😀😀y"),
            (#"\uD834\uDD1E"#, "\u{1D11E}"), (#"\uDBFF\uDFFF"#, "\u{10FFFF}"), (#"\uD800\uDC00"#, "\u{10000}"),
        ]
        for (escaped, text) in cases {
            let elements = try JSONValue.elements(of: Self.array(Array(escaped.utf8)))
            #expect(elements.map(\.text) == [text], "\(escaped)")
        }
    }

    @Test func decodesALoneSurrogateAsReplacementCharacter() throws {
        let cases: [(escaped: String, text: String)] = [
            (#"\uD800"#, "\u{FFFD}"), (#"\uDFFF"#, "\u{FFFD}"), (#"a\uD83Db"#, "a\u{FFFD}b"), (#"\uD83D\u0041"#, "\u{FFFD}A"),
            (#"\uDE00\uD83D"#, "\u{FFFD}\u{FFFD}"), (#"\uD83D\uD83D\uDE00"#, "\u{FFFD}😀"), (#"\uD83D\n"#, "\u{FFFD}\n"),
            (#"\uD83D😀"#, "\u{FFFD}😀"), (#"\uD83D\\uDE00"#, "\u{FFFD}\\uDE00"),
        ]
        for (escaped, text) in cases {
            let elements = try JSONValue.elements(of: Self.array(Array(escaped.utf8)))
            #expect(elements.map(\.text) == [text], "\(escaped)")
        }
    }

    @Test func rejectsUnknownEscapes() {
        let allowed = Set(#""\/bfnrtu"#.utf8)
        for byte in UInt8.min...UInt8.max where !allowed.contains(byte) {
            let content = Array("ab\\".utf8) + [byte]
            #expect(throws: JSONError(problem: "unknown escape", offset: Self.contentStart + 3), "\\ and \(byte)") {
                try JSONValue.elements(of: Self.array(content))
            }
        }
    }

    @Test func rejectsIncompleteEscapes() {
        let hex = "expected four hex digits"
        let cases: [(text: String, problem: String, offset: Int)] = [
            (#"["\"#, "unknown escape", 3), (#"["\""#, "unterminated string", 4), (#"["\u"#, hex, 4), (#"["\u00"#, hex, 6),
            (#"["\u004"]"#, hex, 7), (#"["\u004g"]"#, hex, 7), (#"["\u 041"]"#, hex, 4), (#"["\u+041"]"#, hex, 4),
            (#"["\u{41}"]"#, hex, 4), (#"["\uD83D\u"]"#, hex, 10), (#"["\uD83D\x"]"#, "unknown escape", 9),
            (#"["\U0041"]"#, "unknown escape", 3),
        ]
        for (text, problem, offset) in cases {
            #expect(throws: JSONError(problem: problem, offset: offset), "\(text)") { try JSONValue.elements(of: text) }
        }
    }

    @Test func rejectsControlCharacters() {
        for byte in UInt8(0x00)..<0x20 {
            #expect(throws: JSONError(problem: "control character in a string", offset: Self.contentStart + 1), "\(byte)") {
                try JSONValue.elements(of: Self.array([UInt8(ascii: "a"), byte]))
            }
        }
    }

    @Test func rejectsUnterminatedStrings() {
        for length in 0..<20 {
            let text = #"[""# + String(repeating: "a", count: length)
            let error = JSONError(problem: "unterminated string", offset: text.utf8.count)
            #expect(throws: error) { try JSONValue.elements(of: text) }
        }
    }

    // MARK: Eight bytes at a time

    /// The scan must find each special byte at every position in a word, and for every alignment of the text.
    @Test func findsSpecialBytesAtEveryPosition() throws {
        let specials: [(bytes: [UInt8], problem: String?)] = [
            (Array(#"\n"#.utf8), nil), (Array(#"\""#.utf8), nil), (Array(#"\\"#.utf8), nil), (Array("é".utf8), nil),
            (Array("😀".utf8), nil), ([0x7F], nil), (Array("!#[]".utf8), nil), ([0x1F], "control character in a string"),
            ([0x00], "control character in a string"), ([0x80], "invalid UTF-8"), ([0xFF], "invalid UTF-8"),
        ]
        for (bytes, problem) in specials {
            for before in 0...17 {
                for after in [0, 1, 6, 7, 8, 9] {
                    let content =
                        Array(repeating: UInt8(ascii: "x"), count: before) + bytes + Array(repeating: 0x7A, count: after)
                    for misalignment in 0..<8 {
                        let text = Array(repeating: 0x20, count: misalignment) + Self.array(content)
                        if let problem {
                            let error = JSONError(problem: problem, offset: misalignment + Self.contentStart + before)
                            #expect(throws: error) { try JSONValue.elements(of: text) }
                        } else {
                            #expect(try JSONValue.elements(of: text).map(\.raw) == [[0x22] + content + [0x22]])
                        }
                    }
                }
            }
        }
    }

    @Test func endsAStringAtItsFirstQuote() throws {
        for length in 0...40 {
            let plain = String(repeating: "a", count: length)
            let elements = try JSONValue.elements(of: #"["\#(plain)","\#(plain)\"","b"]"#)
            #expect(elements.map(\.text) == [plain, plain + "\"", "b"])
        }
    }
}
