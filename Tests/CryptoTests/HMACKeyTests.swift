import Crypto
import Testing

@Suite struct HMACKeyTests {
    struct Vector: Sendable {
        let name: String
        let secret: String
        let text: String
        let signature: String
    }

    static let vectors = [
        // RFC 4231 section 4: the cases whose keys and data are ASCII.
        Vector(
            name: "RFC 4231 case 1", secret: String(repeating: "\u{0b}", count: 20), text: "Hi There",
            signature: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        Vector(
            name: "RFC 4231 case 2", secret: "Jefe", text: "what do ya want for nothing?",
            signature: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        Vector(
            name: "RFC 4231 case 5, before truncation to 128 bits", secret: String(repeating: "\u{0c}", count: 20),
            text: "Test With Truncation", signature: "a3b6167473100ee06e0c796c2955552bfa6f7c0a6a8aef8b93f860aab0cd20c5"),
        // Keys around the block size of 64 bytes (HMAC hashes longer keys first), and other cases, from Python's hmac.
        Vector(
            name: "63 bytes of key", secret: String(repeating: "k", count: 63), text: "text",
            signature: "c90d83e78c64ee16fe2eefa3e8a834d79d1d3d0ea483f8d9908323b714c7f134"),
        Vector(
            name: "64 bytes of key", secret: String(repeating: "k", count: 64), text: "text",
            signature: "0414bb1d8c0c4556cdb2028727b16610ae377b1a194b6db1f853d4297f2329bc"),
        Vector(
            name: "65 bytes of key", secret: String(repeating: "k", count: 65), text: "text",
            signature: "5b69580123e3d7e788b7e8352ac37a3247b911c5ec0837147b74109a6382d3f5"),
        Vector(
            name: "131 bytes of key", secret: String(repeating: "k", count: 131),
            text: "Test Using Larger Than Block-Size Key - Hash Key First",
            signature: "70e4b005732fa7ff79392aa24fb240159b925dbc9f1398420c0f45e6763dcf14"),
        Vector(
            name: "an empty string", secret: "secret1", text: "",
            signature: "cd0ae951e8e5038c357d3ed7d9174de96af8fe1ea9e68b2429aaa882418e6109"),
        Vector(
            name: "the shortest key", secret: "a", text: "",
            signature: "3acdaa86b3d73e8d18b7019d3f520000531a23db3b6dda7a94ad28db61a9008c"),
        Vector(
            name: "UTF-8", secret: "clé", text: "é😀",
            signature: "123c20094f5ab1d90a4bcabc50dcf68a142ec9463f895aa62cb1ca0322397a68"),
        Vector(
            name: "zero bytes", secret: "a\0b", text: "a\0b",
            signature: "40b90f6b22d666765b85e77eef716bb4828831f1dbbe7c2dcb439366badc7cd8"),
        Vector(
            name: "a long string", secret: "secret1", text: String(repeating: "x", count: 10_000),
            signature: "30a5eb9bad456be05ec873e775cadabc05c4eb11b5243e02fe010461292c2b40"),
        // The examples of Pusher's documentation, whose key is 278d425bdf160c739803.
        Vector(
            name: "a private channel", secret: pusherSecret, text: "1234.1234:private-foobar",
            signature: "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"),
        Vector(
            name: "a presence channel", secret: pusherSecret,
            text: #"1234.1234:presence-foobar:{"user_id":10,"user_info":{"name":"Mr. Channels"}}"#,
            signature: "31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80"),
        Vector(
            name: "a user", secret: pusherSecret, text: #"1234.1234::user::{"id":"12345"}"#,
            signature: "4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"),
        Vector(
            name: "a request", secret: pusherSecret,
            text:
                "POST\n/apps/3/events\nauth_key=278d425bdf160c739803&auth_timestamp=1353088179&auth_version=1.0&body_md5=ec365a775a4cd0599faeb73354201b6f",
            signature: "da454824c97ba181a32ccc17a72625ba02771f50b50e1e7430e47a1f3f457e6c"),
    ]
    private static let pusherSecret = "7ad3773142a6692b25b8"

    @Test(arguments: vectors) func matchesTestVectors(vector: Vector) {
        let key = HMACKey(secret: vector.secret)
        #expect(key.signature(of: vector.text) == vector.signature, "\(vector.name)")
        #expect(key.verifies(vector.signature[...], of: vector.text), "\(vector.name)")
    }

    /// A key computes all its signatures in one context, which must keep no state of the previous string.
    @Test func repeatedSignaturesAreEqual() {
        let key = HMACKey(secret: Self.pusherSecret)
        let others = ["", "a", String(repeating: "b", count: 63), String(repeating: "c", count: 64), "é\0"]
        for round in 0..<1_000 {
            _ = key.signature(of: others[round % others.count])
            #expect(!key.verifies("", of: others[round % others.count]))
            for vector in Self.vectors.suffix(4) { #expect(key.signature(of: vector.text) == vector.signature) }
        }
    }

    @Test func keysAreIndependent() {
        let keys = Self.vectors.map { HMACKey(secret: $0.secret) }
        for _ in 0..<2 {
            for (key, vector) in zip(keys, Self.vectors) { #expect(key.signature(of: vector.text) == vector.signature) }
        }
    }

    /// The signature of `1234.1234:private-foobar` with ``pusherSecret``.
    static let right = "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"
    static let wrong: [(name: String, signature: String)] = [
        ("empty", ""), ("upper case", right.uppercased()), ("one digit in upper case", "58Df" + right.dropFirst(4)),
        ("without its last digit", String(right.dropLast())), ("without its first digit", String(right.dropFirst())),
        ("one digit", "5"), ("the first half", String(right.prefix(32))), ("one digit too long", right + "0"),
        ("twice", right + right),
        ("followed by a zero byte", right + "\0"), ("a zero byte as the last digit", right.dropLast() + "\0"),
        ("a leading space", " " + right.dropLast()), ("a trailing space", right + " "), ("a line end", right + "\n"),
        ("another first digit", "4" + right.dropFirst()), ("another last digit", right.dropLast() + "5"),
        ("not hexadecimal", String(repeating: "x", count: 64)), ("zeros", String(repeating: "0", count: 64)),
        ("64 bytes of UTF-8", String(repeating: "é", count: 32)), ("64 characters of UTF-8", String(repeating: "é", count: 64)),
        ("full-width digits", "５" + right.dropFirst()), ("with a prefix", "sha256=" + right),
    ]

    @Test(arguments: wrong) func rejectsWrongSignatures(name: String, signature: String) {
        let key = HMACKey(secret: Self.pusherSecret)
        #expect(!key.verifies(signature[...], of: "1234.1234:private-foobar"), "\(name)")
        #expect(key.verifies(Self.right[...], of: "1234.1234:private-foobar"), "\(name)")
    }

    static let otherStrings = [
        "", "1234.1234:private-fooba", "1234.1234:private-foobar ", "1234.1235:private-foobar", "1234.1234:Private-foobar",
        "1234.1234:private-foobar\0", "1234.1234:private-foobar:",
    ]

    @Test(arguments: otherStrings) func rejectsSignaturesOfOtherStrings(text: String) {
        #expect(!HMACKey(secret: Self.pusherSecret).verifies(Self.right[...], of: text))
        #expect(!HMACKey(secret: Self.pusherSecret + "x").verifies(Self.right[...], of: "1234.1234:private-foobar"))
    }

    @Test func acceptsASignatureWithinAText() {
        let auth = "key1:" + Self.right
        #expect(HMACKey(secret: Self.pusherSecret).verifies(auth.dropFirst(5), of: "1234.1234:private-foobar"))
    }
}
