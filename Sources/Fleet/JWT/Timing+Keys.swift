import Primitives

/// The constants of time of issuers' keys and of questions about tokens.
extension Timing {
    /// The longest time that fetching an issuer's keys may take.
    package static let keyFetchMax = milliseconds(5_000)
    /// The shortest time between two fetches for unknown keys of which the first brought no new key.
    static let keyFetchInterval = milliseconds(60_000)
    /// The shortest time between a fetch of keys that failed and the next: the issuer may be back at any moment.
    static let keyFetchPauseAfterFailure = milliseconds(5_000)
    /// From a failed question about a token to the next one, if an older answer still counts.
    package static let introspectionPauseAfterFailure = milliseconds(5_000)
}
