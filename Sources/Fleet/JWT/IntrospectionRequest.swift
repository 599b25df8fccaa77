import Crypto

/// The question for an opaque token (RFC 7662 section 2.1).
package struct IntrospectionRequest: Equatable, Sendable {
    /// Names and values of the header fields. They contain the client's secret.
    package let headers: [Header]
    /// `token=…`, as a form.
    package let body: [UInt8]

    /// A header field.
    package struct Header: Equatable, Sendable {
        package let name: String
        package let value: String
    }

    /// - Parameters:
    ///   - clientID: the gateway's name at the backend. With an empty one the request has no `Authorization`.
    ///   - clientSecret: the gateway's password there (RFC 6749 section 2.3.1, HTTP Basic).
    package init(_ token: OpaqueToken, clientID: String, clientSecret: String) {
        var headers = [
            Header(name: "Content-Type", value: "application/x-www-form-urlencoded"),
            Header(name: "Accept", value: "application/json"),
        ]
        if !clientID.isEmpty {
            // RFC 6749 encodes both as a form does before they become a name and a password.
            let credentials = Self.formEncoded(clientID) + [UInt8(ascii: ":")] + Self.formEncoded(clientSecret)
            headers.append(Header(name: "Authorization", value: "Basic " + Base64.text(credentials)))
        }
        self.headers = headers
        body = Array("token=".utf8) + Self.formEncoded(token.text)
    }

    /// `application/x-www-form-urlencoded` (RFC 6749 appendix B): letters, digits and `-._*` stay, a space becomes `+`.
    static func formEncoded(_ text: String) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "*"):
                encoded.append(byte)
            case UInt8(ascii: " "): encoded.append(UInt8(ascii: "+"))
            default: encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return encoded
    }
}
