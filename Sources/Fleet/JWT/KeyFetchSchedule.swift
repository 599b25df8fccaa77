import Primitives

/// Decides when the keys of one issuer are fetched. Times are seconds on the monotonic clock.
///
/// They are fetched when the issuer's document is no longer fresh, because only then a withdrawn key is noticed, and when a
/// token needs a key that the document does not contain, because the issuer may have a new one. Anybody can invent such a
/// token, so after a fetch of the second kind that brought no new key, the next one waits for a minute, or for five seconds
/// if it failed. After a fetch that brought one, the next need not wait: otherwise an invented token a minute could lock out
/// users whenever keys change.
package struct KeyFetchSchedule: Sendable {
    package enum Cause: Sendable {
        /// The document is no longer fresh.
        case age
        /// A token needs a key that is not in the cache.
        case unknownKey
    }

    package enum Outcome: Sendable {
        /// The document has keys that the cache did not have.
        case newKeys(maxAgeSeconds: Int64?)
        /// All keys of the document were in the cache.
        case noNewKeys(maxAgeSeconds: Int64?)
        /// There is no document, or it has no usable key.
        case failed
    }

    private static let secondsBetweenFetches = Int64(Timing.wholeSeconds(Timing.keyFetchInterval))
    private static let secondsAfterFailure = Int64(Timing.wholeSeconds(Timing.keyFetchPauseAfterFailure))
    /// How long a document is fresh if the issuer does not say so (`Cache-Control: max-age`).
    static let freshSeconds: Int64 = 600
    /// The bounds of what the issuer says.
    static let freshSecondsRange: ClosedRange<Int64> = 60...86_400

    private var refreshAt: Int64
    /// When a token with an unknown key may cause a fetch.
    private var unknownKeyAt: Int64

    /// A schedule whose first fetch is due.
    package init(now: Int64) { (refreshAt, unknownKeyAt) = (now, now) }

    /// The time until the document must be fetched again; 0: now.
    package func secondsUntilRefresh(now: Int64) -> Int64 { max(0, refreshAt - now) }

    /// The time until a token with an unknown key may cause a fetch; 0: now.
    package func secondsUntilFetchForUnknownKey(now: Int64) -> Int64 { max(0, unknownKeyAt - now) }

    /// Records a fetch.
    /// - Parameter start: when it began.
    package mutating func record(_ outcome: Outcome, of cause: Cause, startedAt start: Int64) {
        switch outcome {
        case .newKeys(let maxAge), .noNewKeys(let maxAge):
            let range = Self.freshSecondsRange
            refreshAt = start + min(max(maxAge ?? Self.freshSeconds, range.lowerBound), range.upperBound)
        case .failed: refreshAt = max(refreshAt, start + Self.secondsAfterFailure)
        }
        switch (outcome, cause) {
        case (.newKeys, _): unknownKeyAt = start
        case (.failed, .unknownKey): unknownKeyAt = start + Self.secondsAfterFailure
        case (.noNewKeys, .unknownKey): unknownKeyAt = start + Self.secondsBetweenFetches
        case (_, .age): break
        }
    }
}
