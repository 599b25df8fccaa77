import Crypto
import Testing

@Suite struct SHA1Tests {
    // Examples of FIPS 180-4; then a string whose digest is from Python's hashlib.
    @Test(arguments: [
        ("", "2jmj7l5rSw0yVb_vlWAYkK_YBwk"),
        ("abc", "qZk-NkcGgWq6PiVxeFDCbJzQ2J0"),
        ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "hJg-RBw70m66rkqh-VEp5eVGcPE"),
        (String(repeating: "k", count: 1000), "K1DXic0KdYOwBCjLEaNFTHRXbMg"),
    ]) func matchesTestVectors(text: String, digest: String) {
        #expect(Base64URL.text(SHA1.digest(of: Array(text.utf8))) == digest)
    }
}
