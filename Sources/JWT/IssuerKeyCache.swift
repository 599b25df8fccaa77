import Crypto
import Threads

/// The keys fetched from issuers, and the time of each issuer's last fetch. All threads share one cache.
///
/// Each issuer has its own keys: the same `kid` of another issuer identifies another key. Keys remain until a valid
/// document replaces them, so they survive an outage of the issuer's server.
package final class IssuerKeyCache: Sendable {
    /// The result of ``key(issuer:keyID:)``.
    package enum Lookup: Sendable {
        case key(PublicKey)
        /// The cache does not have the key. Fetching the issuer's keys may add it.
        case unknown
        /// The token has no `kid`, and the issuer has several keys.
        case ambiguous
    }

    /// The shortest time between two fetches for the same issuer, in seconds.
    package static let secondsBetweenFetches: UInt64 = 60

    private struct IssuerKeys: Sendable {
        /// Keys with a `kid`, by the bytes of the `kid`.
        var named: [[UInt8]: PublicKey] = [:]
        /// Keys without a `kid`.
        var nameless: [PublicKey] = []
        /// The time of the last fetch in seconds since 1970; nil before the first fetch.
        var lastFetch: Int64?
    }

    private let issuers: [TokenIssuer]
    private let keysByIssuer: Lock<[IssuerKeys]>

    /// - Parameter issuers: the issuers of the verifiers that use this cache, in the same order.
    package init(issuers: [TokenIssuer]) {
        self.issuers = issuers
        keysByIssuer = Lock([IssuerKeys](repeating: IssuerKeys(), count: issuers.count))
    }

    /// Looks up a key of an issuer.
    /// - Parameters:
    ///   - issuer: the issuer's index in the array passed to ``init(issuers:)``.
    ///   - keyID: the token's `kid`; nil selects the issuer's only key.
    package func key(issuer: Int, keyID: String?) -> Lookup {
        let keys = keysByIssuer.withLock { $0[issuer] }
        if let keyID { return keys.named[Array(keyID.utf8)].map(Lookup.key) ?? .unknown }
        switch keys.named.count + keys.nameless.count {
        case 0: return .unknown
        case 1: return (keys.nameless.first ?? keys.named.values.first).map(Lookup.key) ?? .unknown
        default: return .ambiguous
        }
    }

    /// Whether the cache has no key of the issuer, because none was fetched yet. The issuer's tokens can then be
    /// neither accepted nor rejected.
    package func isEmpty(issuer: Int) -> Bool {
        keysByIssuer.withLock { $0[issuer].named.isEmpty && $0[issuer].nameless.isEmpty }
    }

    /// Replaces all keys of an issuer by those of `document`, fetched from the issuer's URL.
    /// - Throws: ``TokenIssuerError`` if the document contains no usable key. The old keys then remain.
    package func store(_ document: [UInt8], for issuer: Int) throws(TokenIssuerError) {
        guard case .remote(_, let kind) = issuers[issuer].keys else {
            preconditionFailure("IssuerKeyCache.store was called for an issuer whose keys are not fetched")
        }
        let keys = try JWKSDocument(document, kind, issuers[issuer].algorithm)
        keysByIssuer.withLock { all in
            all[issuer].named = keys.named
            all[issuer].nameless = keys.nameless
        }
    }

    /// Whether the caller should fetch the issuer's keys now. The first call for an issuer returns true; after that, at
    /// most one call per ``secondsBetweenFetches`` does, so that tokens with invented key ids cannot cause more
    /// fetches. Each call that returns true counts as a fetch, whether the fetch then succeeds or not.
    /// - Parameter now: seconds since 1970.
    package func mayFetch(issuer: Int, now: Int64) -> Bool {
        keysByIssuer.withLock { all in
            if let last = all[issuer].lastFetch, now >= last {
                // If the clock was set back (now < last), this check is skipped, so that the next fetch is not delayed.
                let elapsed = UInt64(bitPattern: now &- last)  // cannot overflow, because now >= last
                guard elapsed >= Self.secondsBetweenFetches else { return false }
            }
            all[issuer].lastFetch = now
            return true
        }
    }
}
