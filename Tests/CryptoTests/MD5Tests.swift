import Crypto
import Testing

@Suite struct MD5Tests {
    static let vectors: [(text: String, digest: String)] = [
        // RFC 1321, appendix A.5.
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
        // Pusher's documentation.
        (#"{"name":"foo","channels":["project-3"],"data":"{\"some\":\"data\"}"}"#, "ec365a775a4cd0599faeb73354201b6f"),
        // From Python's hashlib.
        (String(repeating: "x", count: 100_000), "d5816f35916d1d9482fb0f1ec201101d"),
    ]

    private func digest(_ bytes: [UInt8], by md5: MD5) -> String { bytes.withUnsafeBytes { md5.hexadecimalDigest(of: $0) } }

    @Test(arguments: vectors) func matchesTestVectors(text: String, digest: String) {
        #expect(self.digest(Array(text.utf8), by: MD5()) == digest)
    }

    @Test func digestsBytesThatAreNotUTF8() {
        #expect(digest(Array(0...255), by: MD5()) == "e2c865db4162bed963bfaa9ef6ac18f0")
    }

    @Test func digestsNoBytes() {
        #expect(MD5().hexadecimalDigest(of: UnsafeRawBufferPointer(start: nil, count: 0)) == Self.vectors[0].digest)
    }

    @Test func repeatedDigestsAreEqual() {
        let md5 = MD5()
        for _ in 0..<200 {
            for (text, digest) in Self.vectors.dropLast() { #expect(self.digest(Array(text.utf8), by: md5) == digest) }
        }
    }
}
