import TestSupport

/// Builds the key documents that issuers publish: JWK sets and Firebase certificates, valid or invalid.
enum KeyDocuments {
    /// A JWK set of these keys.
    static func set(_ keys: String...) -> [UInt8] { Array(("{\"keys\":[" + keys.joined(separator: ",") + "]}").utf8) }

    /// An RSA key as a JWK. A nil `keyID` means no `kid`; `more` is appended to the members.
    static func rsa(
        _ keyID: String?, modulus: String = TestKeys.rsaModulus, exponent: String = "AQAB", _ more: String = ""
    ) -> String {
        "{\"kty\":\"RSA\",\(kid(keyID))\"n\":\"\(modulus)\",\"e\":\"\(exponent)\"\(more)}"
    }

    /// An EC key as a JWK. A nil `keyID` means no `kid`; `more` is appended to the members.
    static func p256(
        _ keyID: String?, curve: String = "P-256", x: String = TestKeys.p256X, y: String = TestKeys.p256Y, _ more: String = ""
    ) -> String {
        "{\"kty\":\"EC\",\(kid(keyID))\"crv\":\"\(curve)\",\"x\":\"\(x)\",\"y\":\"\(y)\"\(more)}"
    }

    /// Firebase's format: PEM certificates by `kid`.
    static func certificates(_ pems: [(String, String)]) -> [UInt8] {
        let members = pems.map { "\"\($0.0)\":\"\($0.1.split(separator: "\n").joined(separator: #"\n"#))\"" }
        return Array(("{" + members.joined(separator: ",") + "}").utf8)
    }

    private static func kid(_ keyID: String?) -> String { keyID.map { "\"kid\":\"\($0)\"," } ?? "" }
}
