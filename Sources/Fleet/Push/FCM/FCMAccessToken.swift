import HTTPClient
import Primitives

/// The access token of a service account: the valid token, and when to fetch the next. It performs no I/O. Times are
/// monotonic milliseconds.
///
/// The first token is fetched when a request needs it. The next token is fetched when a request uses the present one
/// after four fifths of its lifetime; the present one stays in use during the fetch. At most one fetch is under way,
/// and no token is fetched while there are no requests to send.
struct FCMAccessToken {
    /// Responses in a row that are not the authorization server's and count as a refusal: one may be an accident.
    static let foreignMax = 2

    /// The result of a fetch.
    enum FetchResult: Equatable {
        case renewed
        /// An operator has to fix the configuration; the fetch is repeated after ``Timing/fcmTokenRefusedInterval``.
        case refused(reason: String)
        /// The fetch is repeated as ``RetrySchedule`` says.
        case delayed(reason: String)
    }

    /// The result of ``requestRenewal(after:at:)``.
    enum RenewalRequest: Equatable {
        /// A fetch is due or under way.
        case requested
        /// The present token is newer.
        case alreadyRenewed
        /// The last forced renewal is less than ``Timing/fcmTokenForcedInterval`` ago.
        case tooSoon
    }

    private var issued: IssuedCredential?
    private var expiresAt: Int64 = 0
    /// The generation of the last token; -1 before the first.
    private var generation = -1
    /// Whether a request needs a token now or soon.
    private var isNeeded = false
    private var isFetching = false
    private var fetchStartedAt: Int64 = 0
    /// The earliest time of the next fetch.
    private var fetchAt: Int64 = .min
    /// When the last renewal was forced.
    private var forcedAt: Int64?
    /// Delayed fetches since the last token.
    private var failures = 0
    /// How many of the last responses in a row were not the authorization server's.
    private var foreignInRow = 0

    /// The valid token; nil if there is none.
    func current(at now: Int64) -> IssuedCredential? { now < expiresAt ? issued : nil }

    /// The valid token for a request; nil if there is none. After four fifths of its lifetime, also requests the next
    /// token.
    mutating func use(at now: Int64) -> IssuedCredential? {
        if now >= fetchAt { isNeeded = true }
        return current(at: now)
    }

    /// Whether a fetch of the next token is under way or will follow without a further request.
    var isExpected: Bool { isNeeded || isFetching }

    /// When to fetch the next token; nil if a fetch is under way or no request needs a token.
    var nextTurn: Int64? { isFetching || !isNeeded ? nil : fetchAt }

    /// Returns true if a fetch is due; the caller then has to perform it.
    mutating func claimFetch(at now: Int64) -> Bool {
        guard isNeeded, !isFetching, now >= fetchAt else { return false }
        isFetching = true
        fetchStartedAt = now
        return true
    }

    /// Requests a token newer than that of `generation`, which FCM refused or which has expired.
    mutating func requestRenewal(after generation: Int, at now: Int64) -> RenewalRequest {
        guard let issued = current(at: now) else {
            isNeeded = true
            return .requested
        }
        if issued.generation > generation { return .alreadyRenewed }
        if let forcedAt, now - forcedAt < Timing.fcmTokenForcedInterval, now >= forcedAt { return .tooSoon }
        forcedAt = now
        self.issued = nil
        fetchAt = now
        isNeeded = true
        return .requested
    }

    /// Handles the response to a fetch.
    mutating func handle(
        _ response: AccessTokenResponse, at now: Int64, using rng: inout some RandomNumberGenerator
    ) -> FetchResult {
        isFetching = false
        if case .foreign = response { foreignInRow += 1 } else { foreignInRow = 0 }
        switch response {
        case .granted(let text, let seconds):
            guard fetchStartedAt + seconds * 1_000 > now else {
                return delay("the token had expired when it arrived", now, &rng)
            }
            generation += 1
            issued = IssuedCredential(authorization: "Bearer " + text, generation: generation)
            // Counted from the start of the fetch: the server may have issued the token long before its response
            // arrived.
            expiresAt = fetchStartedAt + seconds * 1_000
            fetchAt = fetchStartedAt + seconds * 800
            failures = 0
            isNeeded = false
            return .renewed
        case .refused(let reason): return refuse(reason, now)
        case .foreign(let reason):
            return foreignInRow >= Self.foreignMax ? refuse(reason, now) : delay(reason, now, &rng)
        case .delayed(let reason): return delay(reason, now, &rng)
        }
    }

    private mutating func refuse(_ reason: String, _ now: Int64) -> FetchResult {
        fetchAt = now + Timing.fcmTokenRefusedInterval
        return .refused(reason: reason)
    }

    private mutating func delay(_ reason: String, _ now: Int64, _ rng: inout some RandomNumberGenerator) -> FetchResult {
        fetchAt = now + RetrySchedule.delay(afterAttempts: failures, using: &rng)
        failures += 1
        return .delayed(reason: reason)
    }
}
