import Crypto
import JSON
import Threads

/// A credential as requests carry it.
package struct IssuedCredential: Equatable, Sendable {
    /// The whole value of the header `authorization`.
    package let authorization: String
    /// Which of those made so far it is (0…).
    package let generation: Int
}

/// A moment by both clocks, in milliseconds.
struct APNsTokenTime {
    /// Since 1970: what a token says of when it was made.
    let clock: Int64
    /// By the clock that nobody sets: how old it grows.
    let tick: Int64
}

/// When a provider token is made anew. Apple wants that no more often than every 20 minutes, and takes none that is older than
/// an hour (PUSH.md section 1).
struct APNsTokenAge {
    /// The middle of what Apple allows, and then some: nobody should be refused for a token of 59 minutes.
    static let lifetime: Int64 = 45 * 60_000
    /// Between two tokens. Whoever needs one sooner because Apple found the one before too old has a wrong clock, which no
    /// token mends.
    static let interval: Int64 = 20 * 60_000
    /// A clock that was set back by more than this makes a token one of the future.
    static let skewMax: Int64 = 60_000

    private var issued: APNsTokenTime?
    private var forcedAt: Int64?

    /// Whether there is none, or none that says of itself what is true by the clock as it is now.
    func isOver(at now: APNsTokenTime) -> Bool {
        guard let issued else { return true }
        let age = now.clock - issued.clock
        return now.tick - issued.tick >= Self.lifetime || age >= Self.lifetime || age < -Self.skewMax
    }

    /// Whether the next would be too soon for connections that have seen this one.
    func isYoung(at now: APNsTokenTime) -> Bool { issued.map { now.tick - $0.tick < Self.interval } ?? false }

    /// Takes it upon the caller to make one, if one is to be made now; false if not.
    mutating func claimRenewal(at now: APNsTokenTime) -> Bool {
        guard isOver(at: now) else { return false }
        issued = now
        return true
    }

    /// The same for one that is made before its time.
    mutating func claimForcedRenewal(at now: APNsTokenTime) -> Bool {
        if let forcedAt, now.tick - forcedAt < Self.interval { return false }
        forcedAt = now.tick
        issued = now
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
        /// The last that was made sooner after the one before than a connection may see two.
        var hastyGeneration = -1
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
    func current(at now: APNsTokenTime) -> IssuedCredential {
        state.withLock { state in
            let isHasty = state.age.isYoung(at: now)
            if !state.age.claimRenewal(at: now), let issued = state.issued { return issued }
            let issued = issue(&state, now.clock)
            if isHasty { state.hastyGeneration = issued.generation }
            return issued
        }
    }

    /// Whether connections over which the token of a generation went are to be left, for the clock was set: with the next, or
    /// the one there is, they would see two tokens sooner than Apple allows.
    func isTooSoon(after generation: Int, at now: APNsTokenTime) -> Bool {
        state.withLock { state in
            state.hastyGeneration > generation || state.age.isYoung(at: now) && state.age.isOver(at: now)
        }
    }

    /// A token newer than `generation`, which Apple found too old; nil when it would be the second within 20 minutes.
    func renewed(after generation: Int, at now: APNsTokenTime) -> IssuedCredential? {
        state.withLock { state in
            // The other lane may have had it made already.
            if let issued = state.issued, issued.generation > generation { return issued }
            return state.age.claimForcedRenewal(at: now) ? issue(&state, now.clock) : nil
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
