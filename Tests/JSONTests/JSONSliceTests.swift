import TestSupport
import Testing

@testable import JSON

@Suite struct JSONSliceTests {
    /// Calls `body` with the slice of `value`, which is JSON.
    private func read<Result>(_ value: String, _ body: (JSONSlice) throws -> Result) throws -> Result {
        var results: [Result] = []
        try Array("[\(value)]".utf8).withUnsafeBytes { bytes in
            try JSONReader.array(bytes) { results.append(try body($0)) }
        }
        return try #require(results.first)
    }

    @Test func stringContentIsStillEscaped() throws {
        for (json, content) in [(#""""#, ""), (#""a""#, "a"), (#""\"\u00e9é""#, #"\"\u00e9é"#)] {
            #expect(try read(json) { $0.stringContent.map(Array.init) } == Array(content.utf8))
        }
    }

    @Test func stringByteCountIsOfTheDecodedText() throws {
        let counts = [(#""""#, 0), (#""abc""#, 3), (#""é""#, 2), (#""\n\"""#, 2), (#""\u00e9""#, 2), (#""\uD83D\uDE00""#, 4)]
        for (json, count) in counts { #expect(try read(json) { $0.stringByteCount } == count, "\(json)") }
    }

    @Test func otherKindsHaveNoString() throws {
        for json in ["1", "true", "null", "[]", "{}", #"["a"]"#] {
            try read(json) { slice in
                #expect(slice.string == nil && slice.stringContent == nil && slice.stringByteCount == nil)
                #expect(!slice.equals("") && !slice.equals("true"))
            }
        }
    }

    @Test func integerIsNilForFractionsAndOverflow() throws {
        let numbers: [(String, Int?)] = [
            ("0", 0), ("-0", 0), ("42", 42), ("-42", -42), ("9223372036854775807", .max), ("-9223372036854775808", .min),
            ("9223372036854775808", nil), ("1.0", nil), ("1e3", nil), ("-1E0", nil), (#""1""#, nil), ("true", nil), ("[1]", nil),
        ]
        for (json, number) in numbers { #expect(try read(json) { $0.integer } == number, "\(json)") }
    }

    @Test func booleanIsNilForOtherKinds() throws {
        let booleans: [(String, Bool?)] = [
            ("true", true), ("false", false), ("null", nil), (#""true""#, nil), ("1", nil), ("[true]", nil),
        ]
        for (json, isTrue) in booleans { #expect(try read(json) { $0.boolean } == isTrue, "\(json)") }
    }

    @Test func equalsTextInAnyEscapedForm() throws {
        for json in [#""event""#, #""\u0065vent""#, #""even\u0074""#, #""\u0065\u0076\u0065\u006E\u0074""#] {
            #expect(try read(json) { $0.equals("event") }, "\(json)")
        }
        #expect(try read(#""a\/\"\n""#) { $0.equals("a/\"\n") })
        #expect(try read(#""""#) { $0.equals("") })
    }

    @Test func equalsTextOfSeveralBytes() throws {
        for json in [#""é€🚚""#, #""\u00e9\u20AC\ud83d\ude9a""#, #""é\u20ac🚚""#] {
            #expect(try read(json) { $0.equals("é€🚚") && $0.equals(text: "é€🚚") }, "\(json)")
            #expect(try !read(json) { $0.equals("é€🚛") || $0.equals("é€") || $0.equals("é€🚚!") }, "\(json)")
        }
        // A lone surrogate is U+FFFD. The Kelvin sign is not K.
        #expect(try read(#""\ud83d""#) { $0.equals("\u{FFFD}") } && !read(#""\u212a""#) { $0.equals("K") })
    }

    /// A text that is cut is a beginning of the whole one, and exceeds the limit by less than one character.
    @Test(arguments: UInt64(1)...20) func cutsLongTextsAboveALimit(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let pieces = [
            "a", "bcdefghijk", "é", "€", "🚚", #"\n"#, #"\""#, #"\u0061"#, #"\u00e9"#, #"\ud83d\ude9a"#, #"\ud83d"#, #"\udE00"#,
        ]
        for _ in 0..<50 {
            let json = "\"" + (0..<random.below(30)).map { _ in pieces[random.below(pieces.count)] }.joined() + "\""
            let whole = try #require(try read(json) { $0.string })
            let count = whole.utf8.count
            #expect(try read(json) { $0.stringByteCount } == count, "\(json)")
            for limit in 0...(count + 2) {
                let cut = try #require(try read(json) { $0.string(cutAbove: limit) })
                #expect(whole.utf8.starts(with: cut.utf8), "\(json) cut at \(limit)")
                #expect(
                    count <= limit ? cut == whole : (limit + 1...limit + 4).contains(cut.utf8.count), "\(json) cut at \(limit)")
                #expect(try read(json) { $0.hasText(upTo: limit) } == (count <= limit), "\(json), \(limit)")
            }
        }
    }

    @Test func countsWhatEscapesRepresent() {
        for (json, count) in [(#"{"a":"\n\""}"#, 10), (#"["\ud83d\ude9a",1]"#, 10), (#""\ud83d\u0041""#, 6), ("12", 2)] {
            #expect(Array(json.utf8).withUnsafeBytes(JSONEscapes.decodedCount) == count, "\(json)")
        }
    }

    @Test func equalsNoOtherText() throws {
        for json in [#""""#, #""even""#, #""events""#, #""Event""#, #"" event""#, #""event\u0000""#, #""\u0065ven""#, "1"] {
            #expect(try !read(json) { $0.equals("event") }, "\(json)")
        }
    }

    /// Swift's `==` treats the Kelvin sign and K as equal strings. `equals` compares bytes instead.
    @Test func equalsComparesBytes() throws {
        for json in ["\"\u{212A}ey\"", #""\u212Aey""#] { #expect(try !read(json) { $0.equals("Key") }, "\(json)") }
    }
}
