import Crypto
import JSON
import Primitives

/// Why a token is invalid, for developers. Quotes neither the token nor a secret.
struct TokenError: Error, Equatable {
    let reason: String
    let kind: Kind

    enum Kind {
        case invalid
        /// The token was valid until it expired, as far as it was checked.
        case expired
        /// The token is genuine, but its user has no role.
        case withoutRole
    }

    init(_ reason: String, kind: Kind = .invalid) {
        self.reason = reason
        self.kind = kind
    }
}

/// A JWT in compact form (RFC 7515 section 7.1), parsed but not verified.
package struct JWT {
    /// The largest token in bytes. A request's head, which contains the token, is by default as large at most.
    static let bytesMax = 16_384
    /// The largest header in bytes, as JSON.
    static let headerBytesMax = 4_096
    /// The longest `kid` in bytes. A token with a longer `kid` is rejected; a key with a longer `kid` in a key document
    /// is skipped.
    static let keyIDBytesMax = 200

    let algorithm: String
    let keyID: String?
    let payload: [UInt8]
    /// Header and payload in compact form: the bytes that the signature covers.
    let signedBytes: [UInt8]
    let signature: [UInt8]

    /// The members of the header that are read. Members that name or contain a key (`jku`, `jwk`, `x5u`, `x5c`) are
    /// ignored.
    private enum HeaderName: String, CaseIterable {
        case alg, kid, crit
    }

    init(_ token: String) throws(TokenError) {
        guard token.utf8.count <= Self.bytesMax else { throw TokenError("The token exceeds \(Self.bytesMax) bytes") }
        let bytes = Array(token.utf8)
        guard let parts = Self.parts(bytes) else {
            throw TokenError("Expected a signed JWT: three parts with dots between them")
        }
        let header = try Self.decoded(parts[0], "header")
        payload = try Self.decoded(parts[1], "payload")
        signature = try Self.decoded(parts[2], "signature")
        signedBytes = Array(bytes[..<parts[1].endIndex])
        (algorithm, keyID) = try Self.header(header)
    }

    /// The three parts of a token; nil if there are fewer or more.
    private static func parts(_ bytes: [UInt8]) -> [ArraySlice<UInt8>]? {
        bytes.withUnsafeBytes { text in
            var parts: [ArraySlice<UInt8>] = []
            var start = 0
            while let length = UnsafeRawBufferPointer(rebasing: text[start...]).offset(of: UInt8(ascii: ".")) {
                guard parts.count < 2 else { return nil }
                parts.append(bytes[start..<start + length])
                start += length + 1
            }
            return parts.count == 2 ? parts + [bytes[start...]] : nil
        }
    }

    private static func decoded(_ part: ArraySlice<UInt8>, _ name: String) throws(TokenError) -> [UInt8] {
        guard !part.isEmpty else { throw TokenError("The token's \(name) is empty") }
        guard let bytes = Base64URL.bytes(part) else {
            throw TokenError("The token's \(name) is not base64url without padding")
        }
        return bytes
    }

    private static func header(_ bytes: [UInt8]) throws(TokenError) -> (algorithm: String, keyID: String?) {
        guard bytes.count <= headerBytesMax else { throw TokenError("The token's header exceeds \(headerBytesMax) bytes") }
        let members: JSONMembers<HeaderName>
        do throws(JSONMembersError) {
            members = try JSONMembers(of: bytes)
        } catch {
            throw TokenError("The token's header: \(error.problem)")
        }
        // Critical extensions (RFC 7515 section 4.1.11): none is supported.
        guard members[.crit] == nil else { throw TokenError("The token's header requires unsupported extensions (crit)") }
        guard case .text(let algorithm) = members[.alg] else {
            throw TokenError("The token's header: expected alg to be a string")
        }
        switch members[.kid] {
        case nil: return (algorithm, nil)
        case .text(let keyID) where keyID.utf8.count <= keyIDBytesMax: return (algorithm, keyID)
        default: throw TokenError("The token's header: expected kid to be a string of at most \(keyIDBytesMax) bytes")
        }
    }
}
