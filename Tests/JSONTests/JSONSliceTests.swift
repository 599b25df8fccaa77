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
