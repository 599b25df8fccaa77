import Primitives
import Testing

@Suite struct SurroundingSpaceTests {
    @Test(arguments: [
        ("a", "a"), (" a b\t\n", "a b"), ("\u{A0}a\u{2003}", "a"), ("\u{3000}\u{202F}é \u{85}", "é"), ("", ""),
        (" \u{2028} ", ""),
        ("\r\nx\r\n", "x"), ("\u{200B}a", "\u{200B}a"),
    ]) func goes(text: String, trimmed: String) {
        #expect(Array(text.withoutSurroundingSpace.utf8) == Array(trimmed.utf8))
    }

    @Test(arguments: [("123 456", "123456"), ("\u{A0}1 2\u{2009}3\n", "123"), ("123-456", "123-456"), ("", "")])
    func allGoes(text: String, without: String) { #expect(text.withoutSpaces == without) }
}
