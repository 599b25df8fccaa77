import TestSupport
import Testing

@testable import JSON

@Suite struct CanonicalJSONTests {
    private func canonical(_ text: String) throws -> String {
        let bytes = try Array(text.utf8).withUnsafeBytes { try CanonicalJSON.bytes(of: $0) }
        let again = try bytes.withUnsafeBytes { try CanonicalJSON.bytes(of: $0) }
        #expect(bytes == again, "not idempotent: \(text)")
        return String(decoding: bytes, as: UTF8.self)
    }

    static let values: [(String, String)] = [
        ("null", "null"), (" true ", "true"), ("false", "false"), ("[]", "[]"), ("{ }", "{}"), ("\"\"", "\"\""),
        ("[ 1 , [ ] , { } ]", "[1e0,[],{}]"), (#"{"b":1,"a":{"d":[],"c":""}}"#, #"{"a":{"c":"","d":[]},"b":1e0}"#),
        (#""\u0041\/\u00e9\ud83d\ude00\n\u000a\u001f\"\\""#, #""A/é😀\n\n\u001f\"\\""#),
        (#"{"\u0062":1,"a":2,"b":3}"#, #"{"a":2e0,"b":3e0}"#), (#"{"":1,"\u0000":2}"#, #"{"":1e0,"\u0000":2e0}"#),
        (#"{"a":1,"a":2,"a":[]}"#, #"{"a":[]}"#), (#"{"é":1,"z":2,"Z":3}"#, #"{"Z":3e0,"z":2e0,"é":1e0}"#),
    ]

    @Test(arguments: values) func writesCanonicalForm(text: String, expected: String) throws {
        #expect(Array(try canonical(text).utf8) == Array(expected.utf8))
    }

    // MARK: Numbers

    /// Each row is one number in several forms.
    static let equal = [
        ["0", "-0", "0.0", "-0.00", "0e5", "0E-5", "0.000e+7", "-0e0"],
        ["1", "1.0", "10e-1", "0.1e1", "1e0", "1E+0", "1e-0", "1.000", "100e-2", "0.001e3", "1e00000000000000000000000"],
        ["-1.5e3", "-1500", "-15e2", "-1500.00", "-0.0015e6", "-1.5E+003"], ["1e400", "10e399", "0.1e401"],
        ["1e-400", "0.1e-399"], ["9007199254740993", "9007199254740993.0", "900719925474099.3e1"],
        ["123456789012345678901234567890", "1.2345678901234567890123456789e29"],
        ["1e1099511627775", "10e1099511627774", "0.1e1099511627776"],
        // Zero with any exponent is zero, even if the exponent overflows.
        ["0", "0e99999999999999999999", "-0.0E-99999999999999999999", "0e1099511627776"],
    ]

    @Test(arguments: equal) func equalNumbersHaveOneForm(texts: [String]) throws {
        let written = try Set(texts.map(canonical))
        #expect(written.count == 1, "\(texts): \(written)")
    }

    @Test func unequalNumbersHaveDifferentForms() throws {
        // Exponents near 2^40 and 2^63, and beyond: they must be neither rounded nor cut off.
        let numbers = [
            "0", "1", "-1", "10", "0.1", "1e400", "1e401", "-1e400", "1e-400", "1e-401", "9007199254740992", "9007199254740993",
            "0.1000000000000000055511151231257827", "1e1099511627775", "1e1099511627776", "1e1099511627777",
            "1e-1099511627776", "1e9223372036854775807", "1e9223372036854775808", "1e-9223372036854775808", "11", "101", "1.1",
            "1.01", "1e99999999999999999999", "1e-99999999999999999999", "2e99999999999999999999", "-1e99999999999999999999",
        ]
        #expect(try Set(numbers.map(canonical)).count == numbers.count)
    }

    @Test func writesLongNumbers() throws {
        let zeros = String(repeating: "0", count: 200_000)
        #expect(try canonical("1" + zeros) == "1e200000")
        #expect(try canonical("0.\(zeros)1") == "1e-200001")
        #expect(try canonical("0." + zeros) == "0")
        #expect(try canonical("1e" + zeros + "7") == "1e7")
    }

    // MARK: Names

    /// Swift's `==` treats canonically equivalent strings as equal. Member names in JSON differ if any code point
    /// differs.
    @Test func comparesNamesAsBytes() throws {
        let kelvin = try canonical("{\"K\":1,\"\u{212A}\":2}")
        #expect(Array(kelvin.utf8) == Array("{\"K\":1e0,\"\u{212A}\":2e0}".utf8))
        let accents = try canonical("{\"\u{E9}\":1,\"e\u{301}\":2}")
        #expect(Array(accents.utf8) == Array("{\"e\u{301}\":2e0,\"\u{E9}\":1e0}".utf8))
        #expect(Array(try canonical("\"\u{212A}\"").utf8) != Array(try canonical("\"K\"").utf8))
    }

    // MARK: Structure

    @Test func sortsMembersButNotElements() throws {
        var random = SplitMix(seed: 1)
        let members = (0..<50).map { #""m\#($0)":{"x":[\#($0),"\#($0)"],"y":null}"# }
        let sorted = try canonical("{\(members.joined(separator: ","))}")
        for _ in 0..<20 {
            #expect(try canonical("{\(members.shuffled(using: &random).joined(separator: " , "))}") == sorted)
        }
        #expect(try canonical("[1,2]") != canonical("[2,1]"))
    }

    @Test(arguments: [
        "", " ", "{", "[1,]", "01", "1.", "+1", ".5", "1e", "NaN", "{} []", "\"\u{1}\"", "tru", "{\"a\"}", "\"\\x\"",
    ])
    func rejectsInvalidJSON(text: String) {
        #expect(throws: JSONError.self) { try Array(text.utf8).withUnsafeBytes { try CanonicalJSON.bytes(of: $0) } }
    }

    @Test func hasTheDepthLimitOfJSONReader() throws {
        let deepest = String(repeating: #"{"a":["#, count: 32) + String(repeating: "]}", count: 32)
        #expect(try canonical(deepest) == deepest)
        let deeper = "[\(deepest)]"
        #expect(throws: JSONError.self) { try Array(deeper.utf8).withUnsafeBytes { try CanonicalJSON.bytes(of: $0) } }
    }
}
