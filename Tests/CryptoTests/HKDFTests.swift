import Testing

@testable import Crypto

/// The vectors of RFC 5869 appendix A for SHA-256.
@Suite struct HKDFTests {
    @Test func basic() {
        let key = HKDF.key(
            secret: [UInt8](repeating: 0x0B, count: 22), salt: Array(0...0x0C), info: Array(0xF0...0xF9), count: 42)
        #expect(
            Hexadecimal.text(key) == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
    }

    @Test func longInputs() {
        let key = HKDF.key(secret: Array(0...0x4F), salt: Array(0x60...0xAF), info: Array(0xB0...0xFF), count: 82)
        #expect(
            Hexadecimal.text(key)
                == "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
                + "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87")
    }

    @Test func noSaltAndNoInfo() {
        let key = HKDF.key(secret: [UInt8](repeating: 0x0B, count: 22), salt: [], info: [], count: 42)
        #expect(
            Hexadecimal.text(key) == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
    }
}
