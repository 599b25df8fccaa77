import Crypto
import JSON
import JWT
import Threads

/// When to issue a provider token. APNs allows a new one at most every 20 minutes, and rejects tokens older than an
/// hour (Apple, "Establishing a token-based connection to APNs"). Times are milliseconds.
struct APNsTokenAge {
    /// How long a token is used: between Apple's limits of 20 and 60 minutes, with a margin for a clock that is off by
    /// some minutes.
    static let lifetime: Int64 = 45 * 60_000
    /// APNs' minimum time between two tokens on a connection, and so the minimum time between two forced renewals. If
    /// APNs rejects a token younger than this as expired, this machine's clock is wrong, and a new token does not help.
    static let interval: Int64 = 20 * 60_000
    /// A token whose issue time is further in the future than this, because the clock was set back, has to be replaced.
    static let skewMax: Int64 = 60_000

    private var issued: CredentialTime?
    private var forcedAt: Int64?

    /// Whether no token was issued, or the token's age by either clock is out of range.
    func isExpired(at now: CredentialTime) -> Bool {
        guard let issued else { return true }
        let age = now.clock - issued.clock
        return now.tick - issued.tick >= Self.lifetime || age >= Self.lifetime || age < -Self.skewMax
    }

    /// Whether it is too early to send another token over a connection that has carried the present one.
    func isRecent(at now: CredentialTime) -> Bool { issued.map { now.tick - $0.tick < Self.interval } ?? false }

    /// Records a renewal if one is due. Returns true if the caller has to issue the token.
    mutating func claimRenewal(at now: CredentialTime) -> Bool {
        guard isExpired(at: now) else { return false }
        issued = now
        return true
    }

    /// Records a forced renewal, at most one per ``interval``. Returns true if the caller has to issue the token.
    mutating func claimForcedRenewal(at now: CredentialTime) -> Bool {
        if let forcedAt, now.tick - forcedAt < Self.interval { return false }
        forcedAt = now.tick
        issued = now
        return true
    }
}

/// The provider token of one key. Both APNs lanes share it, because APNs does not accept a separate token for each
/// thread or connection (429 TooManyProviderTokenUpdates). The lane that first finds the token expired issues the next.
package final class APNsToken: Sendable {
    private struct State {
        var age = APNsTokenAge()
        var issued: IssuedCredential?
        /// Whether ``drainRenewed()`` has not reported the token yet.
        var isUnreported = false
        /// The last generation that was issued less than ``APNsTokenAge/interval`` after its predecessor; -1 if none.
        var earlyGeneration = -1
    }

    private let teamID: String
    private let key: JWTKey
    private let state = Lock(State())

    /// - Parameter key: of the curve P-256.
    package init(teamID: String, keyID: String, key: PrivateKey) {
        self.teamID = teamID
        self.key = .privateKey(key, id: keyID)
    }

    /// The token for the next request. Issues a new one if there is none or it has expired.
    func current(at now: CredentialTime) -> IssuedCredential {
        state.withLock { state in
            let isEarly = state.age.isRecent(at: now)
            if !state.age.claimRenewal(at: now), let issued = state.issued { return issued }
            let issued = issue(&state, now.clock)
            if isEarly { state.earlyGeneration = issued.generation }
            return issued
        }
    }

    /// Whether connections that carried the token of `generation` have to be closed because the clock was set: they
    /// would carry two tokens within ``APNsTokenAge/interval``.
    func outdatesConnections(withGeneration generation: Int, at now: CredentialTime) -> Bool {
        state.withLock { state in
            state.earlyGeneration > generation || state.age.isRecent(at: now) && state.age.isExpired(at: now)
        }
    }

    /// A token newer than that of `generation`, which APNs rejected as too old; nil if a renewal was already forced
    /// within ``APNsTokenAge/interval``.
    func renew(after generation: Int, at now: CredentialTime) -> IssuedCredential? {
        state.withLock { state in
            // The other lane may have renewed it.
            if let issued = state.issued, issued.generation > generation { return issued }
            return state.age.claimForcedRenewal(at: now) ? issue(&state, now.clock) : nil
        }
    }

    /// Returns true once for each issued token, so that only one of the two lanes reports it.
    package func drainRenewed() -> Bool {
        state.withLock { state in
            defer { state.isUnreported = false }
            return state.isUnreported
        }
    }

    private func issue(_ state: inout State, _ now: Int64) -> IssuedCredential {
        var claims = JSONWriter(capacity: 64)
        claims.object {
            $0.member("iss", teamID)
            $0.member("iat", now / 1_000)
        }
        let issued = IssuedCredential(
            authorization: "bearer " + JWT.signed(claims: claims.bytes, with: key),
            generation: (state.issued?.generation ?? -1) + 1)
        state.issued = issued
        state.isUnreported = true
        return issued
    }
}
