import Crypto
import HTTPClient
import JSON
import JWT

/// Why a string is not a valid service account. In an error message, the description follows the name of the
/// configuration key. It contains no secrets.
package struct ServiceAccountError: Error, Equatable, CustomStringConvertible {
    package let description: String
}

/// A Google service account: the JSON file that Google's console creates with a key ("Using OAuth 2.0 for Server to
/// Server Applications").
package struct ServiceAccount: Sendable {
    package let clientEmail: String
    package let projectID: String
    /// The authorization server's URL: https, or http to this machine.
    package let tokenURI: String
    let keyID: String
    let key: PrivateKey

    /// The scope of access tokens.
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// An assertion's lifetime in seconds: Google's maximum, so that an assertion is valid even if this machine's clock
    /// is slow.
    private static let assertionSeconds: Int64 = 3_600

    /// Parses the file's text.
    package init(json: String) throws(ServiceAccountError) {
        let members = try Self.members(of: json)
        if let type = members["type"], type != "service_account" {
            throw ServiceAccountError(description: "type: expected service_account")
        }
        clientEmail = try Self.printableText("client_email", in: members)
        keyID = try Self.printableText("private_key_id", in: members)
        projectID = try Self.text("project_id", in: members)
        guard projectID.utf8.allSatisfy(Self.isProjectCharacter) else {
            throw ServiceAccountError(description: "project_id: expected letters, digits, '-', '.' and ':'")
        }
        tokenURI = try Self.text("token_uri", in: members)
        guard (try? HTTPClient.checkAuthenticated(tokenURI)) != nil else {
            throw ServiceAccountError(description: "token_uri: expected an https address, or http on loopback")
        }
        let pem = try Self.text("private_key", in: members)
        do throws(KeyError) {
            key = try PrivateKey(pem: pem)
        } catch {
            throw ServiceAccountError(description: "private_key: \(error)")
        }
        guard key.kind == .rsa else { throw ServiceAccountError(description: "private_key: expected an RSA key") }
    }

    /// The request that exchanges a signed assertion for an access token (RFC 7523).
    /// - Parameter now: milliseconds since 1970.
    func tokenRequest(at now: Int64) -> HTTPClientRequest {
        // A JWT needs no escaping in a form.
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + assertion(at: now / 1_000)
        return HTTPClientRequest(
            .post, tokenURI, headers: [("content-type", "application/x-www-form-urlencoded")], body: Array(form.utf8))
    }

    private func assertion(at seconds: Int64) -> String {
        var claims = JSONWriter(capacity: 256)
        claims.object {
            $0.member("iss", clientEmail)
            $0.member("scope", Self.scope)
            $0.member("aud", tokenURI)
            $0.member("iat", seconds)
            $0.member("exp", seconds + Self.assertionSeconds)
        }
        return JWT.signed(claims: claims.bytes, with: .privateKey(key, id: keyID))
    }

    // MARK: Reading

    /// The members in `names` that are strings.
    private static func members(of json: String) throws(ServiceAccountError) -> [String: String] {
        var members: [String: String] = [:]
        do {
            try Array(json.utf8).withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { key, value in
                    for name in names where key.equals(name) { members[name.description] = value.string }
                }
            }
        } catch {
            throw ServiceAccountError(description: "expected a JSON object")
        }
        return members
    }

    /// The members of the file that are needed.
    private static let names: [StaticString] = [
        "type", "client_email", "private_key", "private_key_id", "project_id", "token_uri",
    ]

    private static func text(_ name: String, in members: [String: String]) throws(ServiceAccountError) -> String {
        guard let text = members[name], !text.isEmpty else { throw ServiceAccountError(description: "\(name) is missing") }
        return text
    }

    /// A member that is an e-mail address or an id. It is checked here because Google would refuse an invalid one only
    /// at the first push.
    private static func printableText(_ name: String, in members: [String: String]) throws(ServiceAccountError) -> String {
        let text = try text(name, in: members)
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ServiceAccountError(description: "\(name): expected printable ASCII without spaces")
        }
        return text
    }

    /// Whether a project id may contain the byte. The id becomes part of a URL path without being escaped.
    private static func isProjectCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
            true
        default: false
        }
    }
}
