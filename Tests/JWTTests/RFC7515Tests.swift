import Access
import Crypto
import JWT
import Testing

/// The examples of RFC 7515, appendices A.2 (RS256) and A.3 (ES256). Both have the same payload, which has no `sub`.
@Suite struct RFC7515Tests {
    static let payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    static let expiry: Int64 = 1_300_819_380

    static let rsaKey = KeyDocuments.rsa(
        nil,
        modulus: """
            ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMs\
            D1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdV\
            MTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ
            """)
    static let rsaSignature = """
        cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQ\
        jbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqt\
        FZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw
        """
    static let p256Key = KeyDocuments.p256(
        nil, x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
    static let p256Signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

    static let examples: [(header: String, signature: String, algorithm: TokenAlgorithm, key: String)] = [
        (#"{"alg":"RS256"}"#, rsaSignature, .rs256, rsaKey), (#"{"alg":"ES256"}"#, p256Signature, .es256, p256Key),
    ]

    @Test(arguments: examples)
    func verifiesTheExamples(header: String, signature: String, algorithm: TokenAlgorithm, key: String) throws {
        let issuers = [TokenIssuer(algorithm: algorithm, keys: .remote(url: "https://joe.example", .jwks), issuer: "joe")]
        let cache = IssuerKeyCache(issuers: issuers)
        try cache.store(KeyDocuments.set(key), for: 0)
        let verifier = try TokenVerifier(issuers: issuers, keyCache: cache)
        let signed = Base64URL.text(Array(header.utf8)) + "." + Self.payload + "."
        // Claims are checked after the signature, so an error about claims shows that the signature is correct.
        #expect(verifier.verify(signed + signature, now: Self.expiry) == .refused("The token lacks sub"))
        #expect(
            verifier.verify(signed + signature, now: Self.expiry + 60)
                == .expired("The token expired at 2011-03-22T18:43:00.000Z"))
        let wrong = (signature.hasPrefix("c") ? "d" : "E") + signature.dropFirst()
        #expect(verifier.verify(signed + wrong, now: Self.expiry) == .refused("The token's signature is wrong"))
    }
}
