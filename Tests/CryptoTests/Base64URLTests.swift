import Crypto
import Testing

@Suite struct Base64URLTests {
    static let pairs: [([UInt8], String)] = [
        // The examples of RFC 4648 section 10, without the padding; RFC 7515 appendix C; then texts with the last
        // digits of the alphabet.
        ([], ""), (Array("f".utf8), "Zg"), (Array("fo".utf8), "Zm8"), (Array("foo".utf8), "Zm9v"),
        (Array("foob".utf8), "Zm9vYg"), (Array("fooba".utf8), "Zm9vYmE"), (Array("foobar".utf8), "Zm9vYmFy"),
        ([3, 236, 255, 224, 193], "A-z_4ME"), ([0], "AA"), ([0, 0, 0], "AAAA"), ([255], "_w"), ([255, 255], "__8"),
        ([251, 239, 190], "----"),
    ]

    @Test(arguments: pairs) func encodesAndDecodes(bytes: [UInt8], text: String) {
        #expect(Base64URL.text(bytes) == text)
        #expect(Base64URL.bytes(text) == bytes)
    }

    @Test func keepsAllByteValues() {
        for count in 0...70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ count) }
            #expect(Base64URL.bytes(Base64URL.text(bytes)) == bytes)
        }
        let all = (0...255).map { UInt8($0) }
        #expect(Base64URL.bytes(Base64URL.text(all)) == all)
    }

    @Test(arguments: [
        "Zg==", "Zm8=", "=", "Zm9v=", "Zm+v", "Zm/v", "Zm9v\n", " Zm9v", "Zm 9v", "Zm.v", "Zm9v\0", "Zmév",  // other bytes
        "A", "Zm9vY", "AAAAA",  // impossible lengths
        "Zh", "Zv", "Zm9", "Zm_", "_x", "__9",  // non-zero bits beyond the last byte
    ]) func rejectsOtherEncodings(text: String) {
        #expect(Base64URL.bytes(text) == nil)
    }
}
