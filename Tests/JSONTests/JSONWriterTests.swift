import TestSupport
import Testing

@testable import JSON

@Suite struct JSONWriterTests {
    private func written(_ text: String) -> String {
        var json = JSONWriter()
        json.string(text)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test func escapesOnlyWhatJSONRequires() {
        #expect(written("") == #""""#)
        #expect(written("\"\\") == #""\"\\""#)
        #expect(written("\n\r\t") == #""\n\r\t""#)
        #expect(written("\0\u{1}\u{8}\u{B}\u{C}\u{1F}") == #""\u0000\u0001\u0008\u000b\u000c\u001f""#)
    }

    @Test func copiesOtherCharactersUnchanged() {
        for text in ["plain", "a/b", "<&'>", "\u{7F}", "é", "日本", "😀", "\u{2028}\u{FEFF}", "e\u{301}"] {
            #expect(Array(written(text).utf8) == Array("\"\(text)\"".utf8))
        }
    }

    @Test func writesStringsAndUTF8Alike() {
        #expect(written(String("xa\"bx".dropFirst().dropLast())) == #""a\"b""#)
        var json = JSONWriter()
        json.string(utf8: Array("a\"é".utf8))
        #expect(json.bytes == Array(#""a\"é""#.utf8))
    }

    @Test func appendsPiecesInOrder() {
        var json = JSONWriter(capacity: 0)
        json.raw(#"{"a":"#)
        json.integer(-1)
        json.raw(#","b":"#)
        json.integer(UInt64.max)
        json.raw(Array(#","c":[]}"#.utf8))
        #expect(String(decoding: json.bytes, as: UTF8.self) == #"{"a":-1,"b":18446744073709551615,"c":[]}"#)
    }

    /// Writes random strings and reads them again.
    @Test(arguments: UInt64(1)...20) func readerDecodesWrittenStrings(seed: UInt64) throws {
        var dice = SplitMix(seed: seed)
        for _ in 0..<200 {
            let text = Self.randomText(&dice)
            var json = JSONWriter()
            json.raw("[")
            json.string(text)
            json.raw("]")
            let read = try JSONValue.elements(of: json.bytes).first?.text
            #expect(read.map { Array($0.utf8) } == Array(text.utf8))
        }
    }

    /// Half of the characters are control characters or characters that occur in escapes; the other half are scalars of
    /// every UTF-8 length.
    private static func randomText(_ dice: inout SplitMix) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...40, using: &dice) {
            let value: UInt32 =
                switch Int.random(in: 0..<4, using: &dice) {
                case 0: UInt32.random(in: 0..<0x20, using: &dice)
                case 1: [0x22, 0x5C, 0x2F, 0x75].randomElement(using: &dice) ?? 0
                case 2: UInt32.random(in: 0x20..<0x800, using: &dice)
                default: UInt32.random(in: 0x800...0x10_FFFF, using: &dice)
                }
            if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
        }
        return text
    }
}
