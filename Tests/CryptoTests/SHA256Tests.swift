import Crypto
import Testing

@Suite struct SHA256Tests {
    // Examples of FIPS 180-4; then strings around the block size of 64 bytes, whose digests are from Python's hashlib.
    @Test(arguments: [
        ("", "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"),
        ("abc", "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"),
        ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "JI1qYdIGOLjlwCaTDD5gOaM85Flk_yFn9uzt1BnbBsE"),
        (String(repeating: "k", count: 55), "lKvMEfZWmGiP_ChY77mz1V8gxXmrqtgnNa5oF4h1lfQ"),
        (String(repeating: "k", count: 56), "STpwC4_XHCoYbAGOHTqbG-u87DWKE9qmfnaniP3cLgc"),
        (String(repeating: "k", count: 63), "1LrLNLiOF6q-QrXknDarlR1P4ZoTwRQQ7rvHMmXk7f4"),
        (String(repeating: "k", count: 64), "JRm0m89p_qwnCsPIYxU56MrtTH5qYsbMVREiimF4B0U"),
        (String(repeating: "k", count: 65), "85zcJYR1jJnPgcH0HSVy9U4XBmr__J0Yeur-X3y-ISI"),
        (String(repeating: "k", count: 1000), "J_7QSc-A4O_3Grg3yCpQMnt2d-vaIjBdPzU_CYlIhmk"),
    ]) func matchesTestVectors(text: String, digest: String) {
        #expect(Base64URL.text(SHA256.digest(of: Array(text.utf8))) == digest)
    }
}
