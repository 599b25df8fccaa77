import Testing

@testable import Fleet
@testable import PusherAPI

@Suite struct FormFieldsTests {
    private func fields(_ body: String, names: [String] = ["a"]) throws -> FormFields {
        try Array(body.utf8).withUnsafeBytes { bytes in try FormFields(bytes, names: names) }
    }

    /// A form, and the value of its field `a`; nil: the form has no such field.
    static let bodies: [(String, String?)] = [
        ("a=1", "1"), ("a=", ""), ("a", ""), ("b=2&a=1", "1"), ("&&a=1&&", "1"), ("a=1=2", "1=2"), ("a==", "="),
        ("a=x+y%20z", "x y z"), ("%61=%31", "1"), ("a=%C3%A9", "é"), ("a=%c3%a9", "é"), ("a=é", "é"), ("a=%26%3d%2B%25", "&=+%"),
        ("a=%00", "\0"), ("a=%FF", "\u{FFFD}"), ("", nil), ("A=1", nil), ("=1", nil), ("+a=1", nil), ("b", nil), ("a%3D1", nil),
    ]

    @Test(arguments: bodies) func decodesFields(body: String, value: String?) throws {
        #expect(try fields(body)["a"] == value)
    }

    @Test(arguments: ["a=%", "a=%4", "a=%G0", "a=%0G", "%", "a=1&b=%2", "a=%%41", "a=%+1", "a=%é0", "a=1&%zz"])
    func rejectsMalformedEscapes(body: String) {
        #expect(throws: APIError(400, "The form contains a malformed percent escape")) { try fields(body) }
    }

    @Test(arguments: ["a=1&a=1", "a=1&b=2&a=3", "a&a", "a=1&%61=2"]) func rejectsDuplicateFields(body: String) {
        #expect(throws: APIError(400, "Expected \"a\" at most once")) { try fields(body) }
    }

    @Test func skipsFieldsThatNobodyAskedFor() throws {
        #expect(try fields("b=1&b=2&=1&=2&a=3")["a"] == "3")
        #expect(try fields("b=1")["b"] == nil)
        #expect(try fields("b=1&a=2", names: ["a", "b"])["b"] == "1")
    }

    @Test func decodesManyFieldsInLinearTime() throws {
        let body = (0..<20_000).map { "f\($0)=\($0)" }.joined(separator: "&")
        #expect(try fields(body, names: ["f19999"])["f19999"] == "19999")
        #expect(try fields(String(repeating: "&", count: 200_000) + "a=1")["a"] == "1")
    }
}
