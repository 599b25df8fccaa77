import Crypto
import Testing

/// The vector of RFC 7518 appendix B.3.
@Suite struct AESCBCHMACKeyTests {
    private static let key = AESCBCHMACKey(Array(0...63))
    private static let plaintext =
        "A cipher system must not be required to be secret, and it must be able to fall into the hands of the enemy "
        + "without inconvenience"
    private static let authenticated = Array("The second principle of Auguste Kerckhoffs".utf8)
    private static let vector = bytes("1af38c2dc2b96ffdd86694092341bc04")
    private static let ciphertext = bytes(
        "4affaaadb78c31c5da4b1b590d10ffbd3dd8d5d302423526912da037ecbcc7bd822c301dd67c373bccb584ad3e9279c2e6d1"
            + "2a1374b77f077553df829410446b36ebd97066296ae6427ea75c2e0846a11a09ccf5370dc80bfecbad28c73f09b3a3b75e66"
            + "2a2594410ae496b2e2e6609e31e6e02cc837f053d21f37ff4f51950bbe2638d09dd7a4930930806d0703b1f6")
    private static let tag = bytes("4dd3b4c088a7f45c216839645b2012bf2e6269a8c56a816dbc1b267761955bc5")

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.utf8.map { $0 < 0x3A ? $0 - 0x30 : $0 - 0x57 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    @Test func decryptsTheVector() {
        let opened = Self.key?.open(
            Self.ciphertext, vector: Self.vector, tag: Self.tag, authenticating: Self.authenticated)
        #expect(opened == Array(Self.plaintext.utf8))
    }

    @Test func refusesEveryChange() {
        let parts = [Self.ciphertext, Self.vector, Self.tag, Self.authenticated]
        for part in parts.indices {
            for index in parts[part].indices {
                var changed = parts
                changed[part][index] ^= 1
                #expect(
                    Self.key?.open(changed[0], vector: changed[1], tag: changed[2], authenticating: changed[3]) == nil)
            }
            for wrong in [[], Array(parts[part].dropLast()), parts[part] + [0]] {
                var changed = parts
                changed[part] = wrong
                #expect(
                    Self.key?.open(changed[0], vector: changed[1], tag: changed[2], authenticating: changed[3]) == nil)
            }
        }
    }

    @Test func needs64Bytes() {
        #expect(AESCBCHMACKey(Array(0...62)) == nil && AESCBCHMACKey(Array(0...64)) == nil)
    }
}
