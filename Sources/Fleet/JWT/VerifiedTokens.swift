import Access
import Primitives

/// Tokens that one thread has verified lately: the next request with such a token costs a digest instead of a signature
/// check. Clients send the same token with each request until it expires.
///
/// The number of tokens is bounded, and so is their length.
struct VerifiedTokens {
    struct Entry {
        let identity: Identity
        /// The issuer's index.
        let issuer: Int
        /// The generation of the issuer's keys that contained the token's key. Any change of the keys invalidates the entry.
        let keyGeneration: Int
        /// When the token is valid: seconds since 1970, with the tolerated difference between clocks.
        let validity: Range<Double>
    }

    /// Longer tokens are not stored. A customer's token with many bookings is longer; others have some hundred bytes.
    static let tokenBytesMax = 2_048

    /// By the SHA-256 digest of the token.
    private var entries: RecentMap<[UInt8], Entry>

    /// - Parameter countMax: the most stored tokens, at least 2. With tokens of 300 bytes, 8,192 take some 3 MB, and 32 MB
    ///   at most.
    init(countMax: Int = 8_192) { entries = RecentMap(countMax: countMax) }

    var count: Int { entries.count }

    /// The entry of a token; nil if there is none that is valid at `now` (seconds since 1970) with the present keys.
    /// - Parameter generation: the present generation of an issuer's keys.
    mutating func entry(_ digest: [UInt8], now: Int64, generation: (_ issuer: Int) -> Int) -> Entry? {
        guard let entry = entries.use(digest) else { return nil }
        guard entry.validity.contains(Double(now)), entry.keyGeneration == generation(entry.issuer) else {
            entries.remove(digest)
            return nil
        }
        return entry
    }

    mutating func store(_ entry: Entry, _ digest: [UInt8]) { entries.store(entry, for: digest) }
}
