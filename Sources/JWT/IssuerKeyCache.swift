import Crypto
import Threads

/// The keys fetched from issuers, and the time of each issuer's last fetch. All threads share it.
///
/// A key belongs to its issuer: the same `kid` of another issuer is another key. Keys stay until a valid document
/// replaces them, so they survive an outage of the issuer's server.
package final class IssuerKeyCache: Sendable {
    /// The result of ``key(issuer:keyID:)``.
    package enum Lookup: Sendable {
        case key(PublicKey)
        /// The cache has no such key, or none at all; another fetch may return it.
        case unknown
        /// The token has no `kid`, and the issuer has several keys.
        case ambiguous
    }

    /// Minimum interval between two fetches for an issuer.
    package static let secondsBetweenFetches: UInt64 = 60

    private struct IssuerKeys: Sendable {
        var named: [[UInt8]: PublicKey] = [:]
        var nameless: [PublicKey] = []
        var lastFetch: Int64?
    }

    private let issuers: [TokenIssuer]
    private let keysByIssuer: Lock<[IssuerKeys]>

    /// - Parameter issuers: the verifiers' issuers, in the same order.
    package init(issuers: [TokenIssuer]) {
        self.issuers = issuers
        keysByIssuer = Lock([IssuerKeys](repeating: IssuerKeys(), count: issuers.count))
    }

    /// Looks up a key of an issuer.
    /// - Parameters:
    ///   - issuer: the issuer's index.
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

    /// Whether no key of the issuer was ever fetched; then its tokens can be neither accepted nor rejected.
    package func isEmpty(issuer: Int) -> Bool {
        keysByIssuer.withLock { $0[issuer].named.isEmpty && $0[issuer].nameless.isEmpty }
    }

    /// Replaces all keys of an issuer by those of `document`, fetched from the issuer's URL.
    /// - Throws: ``TokenIssuerError`` if the document contains no usable key; the old keys then stay.
    package func store(_ document: [UInt8], for issuer: Int) throws(TokenIssuerError) {
        guard case .remote(_, let kind) = issuers[issuer].keys else {
            preconditionFailure("only keys of remote issuers are fetched")
        }
        let keys = try JWKSDocument(document, kind, issuers[issuer].algorithm)
        keysByIssuer.withLock { all in
            all[issuer].named = keys.named
            all[issuer].nameless = keys.nameless
        }
    }

    /// Whether the caller should fetch the issuer's keys now: the first time at once, then once a minute, so that
    /// invented key ids cannot cause more fetches. True counts as a fetch, whether it succeeds or not.
    /// - Parameter now: seconds since 1970.
    package func mayFetch(issuer: Int, now: Int64) -> Bool {
        keysByIssuer.withLock { all in
            if let last = all[issuer].lastFetch, now >= last {
                // Not reached if the clock was set back: that must not delay the next fetch.
                let elapsed = UInt64(bitPattern: now &- last)  // cannot overflow, because now >= last
                guard elapsed >= Self.secondsBetweenFetches else { return false }
            }
            all[issuer].lastFetch = now
            return true
        }
    }
}
