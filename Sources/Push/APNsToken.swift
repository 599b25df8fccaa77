import PusherProtocol
import Signing
import Threads

/// A credential as requests carry it.
package struct IssuedCredential: Equatable, Sendable {
    /// The whole value of the header `authorization`.
    package let authorization: String
    /// Which of those made so far it is (0…).
    package let generation: Int
}

/// When a provider token is made anew. Apple wants that no more often than every 20 minutes, and takes none that is older than
/// an hour (PUSH.md section 1). Times are milliseconds since 1970.
struct APNsTokenAge {
    /// The middle of what Apple allows, and then some: nobody should be refused for a token of 59 minutes.
    static let lifetime: Int64 = 45 * 60_000
    /// Between two tokens that were asked for because Apple found the one before too old. Whoever needs one sooner has a wrong
    /// clock, which no token mends.
    static let forcedInterval: Int64 = 20 * 60_000
    /// A clock that was set back by more than this makes a token one of the future.
    static let skewMax: Int64 = 60_000

    private var issuedAt: Int64?
    private var forcedAt: Int64?

    /// Whether one is to be made, which then is from now on the one there is.
    mutating func isDue(_ now: Int64) -> Bool {
        if let issuedAt, now - issuedAt < Self.lifetime, issuedAt - now <= Self.skewMax { return false }
        issuedAt = now
        return true
    }

    /// The same for one that is made before its time.
    mutating func isGranted(_ now: Int64) -> Bool {
        if let forcedAt, now - forcedAt < Self.forcedInterval, forcedAt - now <= Self.skewMax { return false }
        forcedAt = now
        issuedAt = now
        return true
    }
}

/// The provider token of one key, which both APNs lanes share: a token for each thread or connection is what Apple punishes
/// (429 TooManyProviderTokenUpdates). Whoever first finds it too old makes the next.
package final class APNsToken: Sendable {
    private struct State {
        var age = APNsTokenAge()
        var issued: IssuedCredential?
        /// Made, and nobody has been told yet.
        var isNews = false
    }

    private let teamID: String
    private let keyID: String
    private let key: PrivateKey
    private let state = Lock(State())

    /// - Parameter key: of the curve P-256.
    package init(teamID: String, keyID: String, key: PrivateKey) {
        self.teamID = teamID
        self.keyID = keyID
        self.key = key
    }

    /// The token to send with, made now if need be.
    package func current(at now: Int64) -> IssuedCredential {
        state.withLock { state in
            if !state.age.isDue(now), let issued = state.issued { return issued }
            return issue(&state, now)
        }
    }

    /// A token newer than `generation`, which Apple found too old; nil when it would be the second within 20 minutes.
    package func renewed(after generation: Int, at now: Int64) -> IssuedCredential? {
        state.withLock { state in
            // The other lane may have had it made already.
            if let issued = state.issued, issued.generation > generation { return issued }
            return state.age.isGranted(now) ? issue(&state, now) : nil
        }
    }

    /// Whether one has been made since this was last asked: of two lanes one tells of it.
    package func takeNews() -> Bool {
        state.withLock { state in
            defer { state.isNews = false }
            return state.isNews
        }
    }

    private func issue(_ state: inout State, _ now: Int64) -> IssuedCredential {
        var claims = JSONWriter(capacity: 64)
        claims.raw(#"{"iss":"#)
        claims.string(teamID)
        claims.raw(#","iat":"#)
        claims.integer(now / 1_000)
        claims.raw("}")
        let text = WebToken.text(claims: claims.bytes, keyID: keyID, key: key)
        let issued = IssuedCredential(
            authorization: "bearer " + text, generation: (state.issued?.generation ?? -1) + 1)
        state.issued = issued
        state.isNews = true
        return issued
    }
}
