import Access

/// Tokens that one thread has verified lately: the next request with such a token costs a digest instead of a signature
/// check. Clients send the same token with each request until it expires.
///
/// The number of tokens is bounded, and so is their length. When half of the places are taken since the last time, the
/// tokens that were not used since then are forgotten: that costs constant time per token and keeps those in use.
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

    private let countMax: Int
    /// By the SHA-256 digest of the token.
    private var recent: [[UInt8]: Entry] = [:]
    /// Those that ``recent`` contained before it was full.
    private var earlier: [[UInt8]: Entry] = [:]

    /// - Parameter countMax: the most stored tokens, at least 2. With tokens of 300 bytes, 8,192 take some 3 MB, and 32 MB
    ///   at most.
    init(countMax: Int = 8_192) { self.countMax = countMax }

    var count: Int { recent.count + earlier.count }

    /// The entry of a token; nil if there is none that is valid at `now` (seconds since 1970) with the present keys.
    /// - Parameter generation: the present generation of an issuer's keys.
    mutating func entry(_ digest: [UInt8], now: Int64, generation: (_ issuer: Int) -> Int) -> Entry? {
        guard let entry = recent[digest] ?? earlier[digest] else { return nil }
        guard entry.validity.contains(Double(now)), entry.keyGeneration == generation(entry.issuer) else {
            recent[digest] = nil
            earlier[digest] = nil
            return nil
        }
        if recent[digest] == nil { store(entry, digest) }
        return entry
    }

    mutating func store(_ entry: Entry, _ digest: [UInt8]) {
        if recent.count >= countMax / 2 {
            earlier = recent
            recent = [:]
        }
        earlier[digest] = nil
        recent[digest] = entry
    }
}
