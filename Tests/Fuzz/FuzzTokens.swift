import Access
import Crypto
import JWT

/// Any bytes as a token, as what an issuer has genuinely signed, and as the keys it publishes: nothing crashes, nobody is
/// believed without a signature, and whoever is believed has an id and bookings that keep the rules.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTokens(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    checkToken(bytes)
    checkSigned(bytes)
    checkKeys(bytes)
    return 0
}

private let secret = "known to nobody but this fuzzer !"
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

/// Bytes as they are: a guess, and no guess is believed.
private func checkToken(_ bytes: [UInt8]) {
    let verdict = verifier.verify(on: String(decoding: bytes, as: UTF8.self), now: now)
    if case .identity = verdict { fatalError("broken promise: nobody is believed without a signature") }
    checkWords(verdict)
}

/// Header and payload, a line each, with the signature that makes them genuine.
private func checkSigned(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return }
    let texts = parts.map { Base64URL.text(Array($0)) }
    for (text, part) in zip(texts, parts) { promise(Base64URL.bytes(text) == Array(part), "bytes survive being written") }
    let signed = texts.joined(separator: ".")
    let digest = key.digest(of: Array(signed.utf8))
    let verdict = verifier.verify(on: signed + "." + Base64URL.text(digest), now: now)
    checkWords(verdict)
    guard case .identity(let identity) = verdict else { return }
    promise(identity.role.accepts(id: identity.id), "an id keeps its role's rule")
    promise(identity.bookings.allSatisfy(Identity.isReference), "bookings are references")
    promise(identity.role == .customer || identity.bookings.isEmpty, "only customers have bookings")
    var wrong = digest
    wrong[Int(digest[0] & 31)] ^= 1
    let refused = verifier.verify(on: signed + "." + Base64URL.text(wrong), now: now)
    promise(refused == .refused("The token's signature is wrong"), "a bit of the signature decides")
}

/// What an issuer publishes: taken whole, with at least one key, or refused whole.
private func checkKeys(_ bytes: [UInt8]) {
    let ring = IssuerKeyCache(issuers: issuers)
    for issuer in 2..<issuers.count {
        do throws(TokenIssuerError) {
            try ring.store(bytes, for: issuer)
        } catch {
            promise(!error.description.isEmpty, "a refusal has words")
            continue
        }
        if case .unknown = ring.key(issuer: issuer, keyID: nil) { fatalError("broken promise: what is taken has a key") }
    }
}

private func checkWords(_ verdict: VerificationResult) {
    guard case .refused(let words) = verdict else { return }
    promise(!words.isEmpty && words.utf8.count < 600, "a refusal is a few words")
    promise(!words.contains(secret), "a refusal keeps the secret")
}
