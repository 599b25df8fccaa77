import Access
import Crypto
import JSON

/// The keys of an issuer, parsed from a fetched document: a JWK set or Google's certificates.
///
/// An unusable key is skipped, because issuers publish keys of many kinds. A document without any usable key is
/// rejected, so that an error page of a proxy does not empty the cache.
struct JWKSDocument {
    /// The most keys in a document, usable or not. Parsing a key is expensive; real issuers have far fewer.
    static let keysMax = 100

    /// Keys by the bytes of their `kid`. The dictionary's keys are not strings, because == on strings compares
    /// canonical equivalence.
    private(set) var named: [[UInt8]: PublicKey] = [:]
    /// Keys without `kid`. Only a token without `kid` can select them.
    private(set) var nameless: [PublicKey] = []
    /// The number of keys read so far, usable or not.
    private var seen = 0

    private enum SetName: String, CaseIterable {
        case keys
    }

    private enum KeyName: String, CaseIterable {
        case kty, kid, use, alg, n, e, crv, x, y
        case operations = "key_ops"
    }

    /// - Parameter algorithm: keys of other algorithms are skipped.
    /// - Throws: ``TokenIssuerError`` if the document is malformed or contains no usable key.
    init(_ document: [UInt8], _ kind: TokenIssuer.RemoteKeys, _ algorithm: TokenAlgorithm) throws(TokenIssuerError) {
        do {
            switch kind {
            case .jwks: try readSet(document, algorithm)
            case .certificates: try readCertificates(document, algorithm)
            }
        } catch {
            throw TokenIssuerError(description: "the fetched keys: \(JSONMembersError(error).problem)")
        }
        guard !named.isEmpty || !nameless.isEmpty else {
            throw TokenIssuerError(description: "the fetched keys: 0 of \(seen) are usable \(algorithm.rawValue) keys")
        }
    }

    private mutating func readSet(_ document: [UInt8], _ algorithm: TokenAlgorithm) throws {
        // Requires exactly one member `keys`. Its elements are parsed below.
        guard try JSONMembers<SetName>(of: document)[.keys] != nil else {
            throw JSONMembersError(problem: "expected a member keys")
        }
        try document.withUnsafeBytes { bytes in
            try JSONReader.object(bytes) { name, value in
                guard name.equals("keys") else { return }
                guard value.kind == .array else { throw JSONMembersError(problem: "expected keys to be an array") }
                try JSONReader.array(value.raw) { element in
                    try countKey()
                    guard let key = try? JSONMembers<KeyName>(of: Array(element.raw)) else { return }
                    add(key, algorithm)
                }
            }
        }
    }

    private mutating func add(_ key: JSONMembers<KeyName>, _ algorithm: TokenAlgorithm) {
        guard Self.permits(key, algorithm), let publicKey = Self.publicKey(key, algorithm) else { return }
        switch Self.member(key, .kid) {
        case nil: nameless.append(publicKey)
        case .text(let keyID): add(publicKey, keyID)
        default: break
        }
    }

    private mutating func readCertificates(_ document: [UInt8], _ algorithm: TokenAlgorithm) throws {
        try document.withUnsafeBytes { bytes in
            try JSONReader.object(bytes) { name, value in
                try countKey()
                guard let keyID = name.string, let pem = value.string, let key = try? PublicKey(pem: pem),
                    key.algorithm == algorithm
                else { return }
                add(key, keyID)
            }
        }
    }

    /// Adds a key, unless the document already has one with this `kid`: the issuer should not use a `kid` for two keys
    /// (RFC 7517 section 4.5). Skips a key whose `kid` is too long.
    private mutating func add(_ key: PublicKey, _ keyID: String) {
        let keyID = Array(keyID.utf8)
        if keyID.count <= JWT.keyIDBytesMax, named[keyID] == nil { named[keyID] = key }
    }

    private mutating func countKey() throws {
        seen += 1
        guard seen <= Self.keysMax else { throw JSONMembersError(problem: "more than \(Self.keysMax) keys") }
    }

    // MARK: JSON Web Key

    /// Whether `use`, `key_ops` and `alg`, if present, permit verifying signatures of `algorithm`.
    private static func permits(_ key: JSONMembers<KeyName>, _ algorithm: TokenAlgorithm) -> Bool {
        let operations: Bool =
            switch member(key, .operations) {
            case nil: true
            case .texts(let operations): operations.contains("verify")
            default: false
            }
        return operations && [nil, .text("sig")].contains(member(key, .use))
            && [nil, .text(algorithm.rawValue)].contains(member(key, .alg))
    }

    /// A member; nil if it is null, too: some serialisers write absent ones so.
    private static func member(_ key: JSONMembers<KeyName>, _ name: KeyName) -> JSONMembers<KeyName>.Value? {
        key[name] == .null ? nil : key[name]
    }

    private static func publicKey(_ key: JSONMembers<KeyName>, _ algorithm: TokenAlgorithm) -> PublicKey? {
        switch (algorithm, key[.kty]) {
        case (.rs256, .text("RSA")):
            guard let modulus = bytes(key[.n]), let exponent = bytes(key[.e]) else { return nil }
            return try? PublicKey(modulus: modulus, exponent: exponent)
        case (.es256, .text("EC")):
            guard key[.crv] == .text("P-256"), let x = bytes(key[.x]), let y = bytes(key[.y]) else { return nil }
            return try? PublicKey(x: x, y: y)
        default: return nil
        }
    }

    private static func bytes(_ value: JSONMembers<KeyName>.Value?) -> [UInt8]? {
        guard case .text(let text) = value else { return nil }
        return Base64URL.bytes(text)
    }
}

extension PublicKey {
    /// The only algorithm that the key verifies.
    var algorithm: TokenAlgorithm {
        switch kind {
        case .rsa: .rs256
        case .p256: .es256
        }
    }
}
