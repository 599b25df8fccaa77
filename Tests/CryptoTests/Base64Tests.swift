import Crypto
import Testing

@Suite struct Base64Tests {
    static let pairs: [([UInt8], String)] = [
        // The examples of RFC 4648 section 10; then texts with the last digits of the alphabet.
        ([], ""), (Array("f".utf8), "Zg=="), (Array("fo".utf8), "Zm8="), (Array("foo".utf8), "Zm9v"),
        (Array("foob".utf8), "Zm9vYg=="), (Array("fooba".utf8), "Zm9vYmE="), (Array("foobar".utf8), "Zm9vYmFy"),
        ([3, 236, 255, 224, 193], "A+z/4ME="), ([0], "AA=="), ([0, 0, 0], "AAAA"), ([255], "/w=="), ([255, 255], "//8="),
        ([251, 239, 190], "++++"),
    ]

    @Test(arguments: pairs) func encodesAndDecodes(bytes: [UInt8], text: String) {
        #expect(Base64.text(bytes) == text)
        #expect(Base64.bytes(of: text) == bytes)
    }

    @Test func keepsAllByteValues() {
        for count in 0...70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ count) }
            #expect(Base64.bytes(of: Base64.text(bytes)) == bytes)
        }
        let all = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(Base64.bytes(of: Base64.text(all)) == all)
    }

    @Test(arguments: [
        "Zm9", "Zg=", "Zg", "Z", "=", "Zm9vY", "Zm9vYg=",  // lengths that are not a multiple of 4
        "Zm-v", "Zm_v", "Zm.v", "Zm9\0", "Zmé9", "Zm 9", "Zm9\n", "{}{}",  // characters outside the alphabet
        "    ", "Zm9v    ", "    Zm9v", "Zm9v\n\n\n\n", "\nZm8=\n\n\n", "Zm9v----", "----", "\tZg==\r\n\t",  // white space
        "====", "A===", "Zg==Zg==", "=m9v", "Z=9v", "Zm=v", "Zm9=Zm9v",  // only padding, padding not at the end
        "Zh==", "Zm9=", "AB==", "//9=",  // non-zero bits beyond the last byte
    ]) func rejectsOtherEncodings(text: String) {
        #expect(Base64.bytes(of: text) == nil)
    }
}
