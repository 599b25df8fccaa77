import Access
import Crypto
import JWT

/// Handles any bytes as a token, as header and payload of a token with a valid signature, as an issuer's key document,
/// and as a session cookie and its content. Invariants: nothing crashes, no token is accepted without a signature, and an accepted identity has a
/// valid id and valid bookings.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTokens(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    checkToken(bytes)
    checkSigned(bytes)
    checkKeys(bytes)
    checkSession(bytes)
    return 0
}

private let secret = "a-secret-for-fuzzers-of-32-bytes"
private let now: Int64 = 1_800_000_000

private let issuers = [
    TokenIssuer(algorithm: .hs256, keys: .secret(secret)),
    TokenIssuer(algorithm: .hs256, keys: .secret(secret), issuer: "fb", audience: "fleet", profile: .firebase(role: .driver)),
    TokenIssuer(algorithm: .rs256, keys: .remote(url: "https://rsa.example/keys", .jwks), issuer: "rsa"),
    TokenIssuer(algorithm: .es256, keys: .remote(url: "https://ec.example/keys", .jwks), issuer: "ec"),
    TokenIssuer(algorithm: .rs256, keys: .remote(url: "https://pem.example/keys", .certificates), issuer: "pem"),
]

nonisolated(unsafe) private let verifier: TokenVerifier = {
    do { return try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers)) } catch { fatalError("\(error)") }
}()

nonisolated(unsafe) private let key = HMACKey(secret: secret)

/// Verifies the bytes as a token. The fuzzer cannot guess a signature, so no token is accepted.
private func checkToken(_ bytes: [UInt8]) {
    let result = verifier.verify(String(decoding: bytes, as: UTF8.self), now: now)
    if case .identity = result { fatalError("invariant violated: no token is accepted without a signature") }
    checkText(result)
}

/// Verifies a token with the bytes as header (first line) and payload, and with a valid signature.
private func checkSigned(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return }
    let texts = parts.map { Base64URL.text(Array($0)) }
    for (text, part) in zip(texts, parts) {
        invariant(Base64URL.bytes(text) == Array(part), "bytes survive encoding and decoding")
    }
    let signed = texts.joined(separator: ".")
    let digest = key.digest(of: Array(signed.utf8))
    let result = verifier.verify(signed + "." + Base64URL.text(digest), now: now)
    checkText(result)
    guard case .identity(let identity) = result else { return }
    invariant(identity.role.accepts(id: identity.id), "an id is valid for its role")
    invariant(identity.bookings.allSatisfy(Identity.isReference), "bookings are references")
    invariant(identity.role == .customer || identity.bookings.isEmpty, "only customers have bookings")
    var wrong = digest
    wrong[Int(digest[0] & 31)] ^= 1
    let refused = verifier.verify(signed + "." + Base64URL.text(wrong), now: now)
    invariant(refused == .refused("The token's signature is wrong"), "one wrong bit in the signature is detected")
}

/// Stores the bytes as an issuer's key document, which is rejected, or accepted with at least one key.
private func checkKeys(_ bytes: [UInt8]) {
    let cache = IssuerKeyCache(issuers: issuers)
    for issuer in 2..<issuers.count {
        do throws(TokenIssuerError) {
            try cache.store(bytes, for: issuer)
        } catch {
            invariant(!error.description.isEmpty, "an error has a text")
            continue
        }
        if case .unknown = cache.key(issuer: issuer, keyID: nil) {
            fatalError("invariant violated: an accepted document has a key")
        }
    }
}

private let sessions = [SessionScheme.v4, .v5].map {
    SessionCookies(names: ["session"], secrets: [secret], scheme: $0, roles: .init(claim: "role", admin: ["ADMIN"], ops: ["OPS"]))
}

private let sessionKey: AESGCMKey = {
    let info = Array("NextAuth.js Generated Encryption Key".utf8)
    guard let key = AESGCMKey(HKDF.key(secret: Array(secret.utf8), salt: [], info: info, count: 32)) else { fatalError("no key") }
    return key
}()

/// Verifies the bytes as a session cookie, which no key opens, and as the content of a genuine one.
private func checkSession(_ bytes: [UInt8]) {
    for cookies in sessions {
        let result = cookies.verify(String(decoding: bytes, as: UTF8.self), name: "session", now: now)
        invariant(result == .refused("The session cookie is invalid"), "no cookie is accepted without a tag")
    }
    let header = Base64URL.text(Array(#"{"alg":"dir","enc":"A256GCM"}"#.utf8))
    let sealed = sessionKey.seal(bytes, authenticating: Array(header.utf8))
    let parts = [sealed.prefix(12), sealed.dropFirst(12).dropLast(16), sealed.suffix(16)].map { Base64URL.text(Array($0)) }
    let cookie = ([header, ""] + parts).joined(separator: ".")
    let result = sessions[0].verify(cookie, name: "session", now: now)
    checkText(result)
    guard case .identity(let identity) = result else { return }
    invariant(identity.role == .admin || identity.role == .ops, "a session has no other role")
    invariant(identity.role.accepts(id: identity.id), "an id is valid for its role")
}

private func checkText(_ result: VerificationResult) {
    let text: String
    switch result {
    case .refused(let reason), .expired(let reason), .withoutRole(let reason): text = reason
    case .identity, .needsKey, .needsAnswer, .needsSetting: return
    }
    invariant(!text.isEmpty && text.utf8.count < 600, "an error has a short text")
    invariant(!text.contains(secret), "an error does not show the secret")
}
