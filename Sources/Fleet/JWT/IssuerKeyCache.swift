import Crypto
import Threads

/// A key that a token needs and that is not in the cache.
package struct MissingKey: Equatable, Sendable {
    /// The issuer's index in the array passed to ``IssuerKeyCache/init(issuers:)``.
    package let issuer: Int
    /// The token's `kid`; nil if it has none.
    package let keyID: String?

    package init(issuer: Int, keyID: String?) { (self.issuer, self.keyID) = (issuer, keyID) }
}

/// The keys fetched from issuers. All threads share one cache.
///
/// Each issuer has its own keys: the same `kid` of another issuer identifies another key. Keys remain until a valid
/// document replaces them, so they survive an outage of the issuer's server.
package final class IssuerKeyCache: Sendable {
    /// The result of ``key(issuer:keyID:)``.
    package enum Lookup: Sendable {
        /// A key, and the generation of the issuer's keys: see ``IssuerKeyCache/generation(issuer:)``.
        case key(PublicKey, generation: Int)
        /// The cache does not have the key. Fetching the issuer's keys may add it.
        case unknown
        /// The token has no `kid`, and the issuer has several keys.
        case ambiguous
    }

    /// How a document differs from the one before.
    package enum Change: Sendable {
        case none
        /// It lacks keys, and has no other ones.
        case removed
        /// It has keys that were not in the cache.
        case added
    }

    private struct IssuerKeys: Sendable {
        /// Keys with a `kid`, by the bytes of the `kid`.
        var named: [[UInt8]: PublicKey] = [:]
        /// Keys without a `kid`.
        var nameless: [PublicKey] = []
        var generation = 0

        func change(to new: IssuerKeys) -> Change {
            if new.named.contains(where: { named[$0] != $1 }) || new.nameless.contains(where: { !nameless.contains($0) }) {
                return .added
            }
            return named.count == new.named.count && nameless.count == new.nameless.count ? .none : .removed
        }
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
        let key: PublicKey?
        if let keyID {
            key = keys.named[Array(keyID.utf8)]
        } else {
            guard keys.named.count + keys.nameless.count <= 1 else { return .ambiguous }
            key = keys.nameless.first ?? keys.named.values.first
        }
        return key.map { .key($0, generation: keys.generation) } ?? .unknown
    }

    /// The number of changes of an issuer's keys so far. A signature that was verified with a key of an earlier generation
    /// has to be verified again: the key may be withdrawn.
    func generation(issuer: Int) -> Int { keysByIssuer.withLock { $0[issuer].generation } }

    /// Whether a key is still unknown.
    package func lacks(_ key: MissingKey) -> Bool {
        if case .unknown = self.key(issuer: key.issuer, keyID: key.keyID) { true } else { false }
    }

    /// Replaces all keys of an issuer by those of `document`, fetched from the issuer's URL.
    /// - Throws: ``TokenIssuerError`` if the document contains no usable key. The old keys then remain.
    @discardableResult
    package func store(_ document: [UInt8], for issuer: Int) throws(TokenIssuerError) -> Change {
        guard case .remote(_, let kind) = issuers[issuer].keys else {
            preconditionFailure("IssuerKeyCache.store was called for an issuer whose keys are not fetched")
        }
        let document = try JWKSDocument(document, kind, issuers[issuer].algorithm)
        var keys = IssuerKeys(named: document.named, nameless: document.nameless)
        return keysByIssuer.withLock { all in
            let change = all[issuer].change(to: keys)
            keys.generation = all[issuer].generation + (change == .none ? 0 : 1)
            all[issuer] = keys
            return change
        }
    }
}
