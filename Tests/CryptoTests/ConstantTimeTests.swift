import Crypto
import Testing

@Suite struct ConstantTimeTests {
    static let pairs: [(one: String, other: String, isEqual: Bool)] = [
        ("", "", true), ("a", "a", true), ("Bearer abc", "Bearer abc", true), ("é😀\0", "é😀\0", true),
        ("", "a", false), ("a", "", false), ("a", "b", false), ("a", "A", false), ("abc", "abd", false), ("abc", "xbc", false),
        ("abc", "ab", false), ("abc", "abcd", false), ("abc", "abc\0", false), ("abc", "abc ", false),
        // Canonically equivalent, but different bytes.
        ("é", "e\u{301}", false), ("K", "\u{212A}", false),
    ]

    @Test(arguments: pairs) func comparesBytes(one: String, other: String, isEqual: Bool) {
        #expect(ConstantTime.equal(one, other) == isEqual)
        #expect(ConstantTime.equal(other, one) == isEqual)
    }
}
