import Crypto
import Threads

/// The keys that were fetched, shared by all threads, and when the next fetch is due.
///
/// Keys belong to an issuer: the same `kid` elsewhere is another key. They stay until a better document comes, and so
/// outlive an outage of whoever publishes them.
package final class IssuerKeyCache: Sendable {
    /// What is known of the key somebody looks for.
    package enum Lookup: Sendable {
        case key(PublicKey)
        /// There is none of that name, or none at all: another fetch may bring it.
        case unknown
        /// No name was given, and there are several.
        case ambiguous
    }

    /// Between two fetches for an issuer, whatever tokens ask for.
    package static let secondsBetweenFetches: UInt64 = 60

    private struct IssuerKeys: Sendable {
        var named: [[UInt8]: PublicKey] = [:]
        var nameless: [PublicKey] = []
        var lastFetch: Int64?
    }

    private let issuers: [TokenIssuer]
    private let keysByIssuer: Lock<[IssuerKeys]>

    /// - Parameter issuers: those of the verifiers, in the same order.
    package init(issuers: [TokenIssuer]) {
        self.issuers = issuers
        keysByIssuer = Lock([IssuerKeys](repeating: IssuerKeys(), count: issuers.count))
    }

    /// An issuer's key.
    /// - Parameter keyID: the token's `kid`; without one, the only key there is.
    package func key(issuer: Int, keyID: String?) -> Lookup {
        let shelf = keysByIssuer.withLock { $0[issuer] }
        if let keyID { return shelf.named[Array(keyID.utf8)].map(Lookup.key) ?? .unknown }
        switch shelf.named.count + shelf.nameless.count {
        case 0: return .unknown
        case 1: return (shelf.nameless.first ?? shelf.named.values.first).map(Lookup.key) ?? .unknown
        default: return .ambiguous
        }
    }

    /// Whether none of an issuer's keys were ever fetched: then nobody can tell whether a token is good.
    package func isEmpty(issuer: Int) -> Bool {
        keysByIssuer.withLock { $0[issuer].named.isEmpty && $0[issuer].nameless.isEmpty }
    }

    /// Replaces all keys of an issuer by those in `document`, which was fetched from its URL.
    /// - Throws: when nothing in it is usable; the keys there were stay.
    package func store(_ document: [UInt8], for issuer: Int) throws(TokenIssuerError) {
        guard case .remote(_, let kind) = issuers[issuer].keys else {
            preconditionFailure("only keys of remote issuers are fetched")
        }
        let keys = try JWKSDocument(document, kind, issuers[issuer].algorithm)
        keysByIssuer.withLock { shelves in
            shelves[issuer].named = keys.named
            shelves[issuer].nameless = keys.nameless
        }
    }

    /// Whether whoever met an unknown key is to fetch the issuer's now: the first at once, then one a minute, so that
    /// invented names cannot make us fetch. A yes counts as a fetch, however that ends.
    /// - Parameter now: seconds since 1970.
    package func mayFetch(issuer: Int, now: Int64) -> Bool {
        keysByIssuer.withLock { shelves in
            if let last = shelves[issuer].lastFetch, now >= last {
                // A clock set back does not come here: it must not put the next fetch off until it has caught up.
                let passed = UInt64(bitPattern: now &- last)  // right for any two moments, as now is the later one
                guard passed >= Self.secondsBetweenFetches else { return false }
            }
            shelves[issuer].lastFetch = now
            return true
        }
    }
}
