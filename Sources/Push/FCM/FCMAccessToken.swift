import HTTPClient

/// The access token of a service account: whether there is one that serves, and when the next is to be fetched. It fetches
/// nothing itself. Times are milliseconds on a clock that nobody sets.
///
/// One is asked for when it is needed, and the next when one is used after four fifths of its life, which it goes on serving:
/// one request at a time, and none while there is nothing to send.
struct FCMToken {
    /// Between two tokens that were asked for because FCM refused the one before: a token that is refused when it is new is not
    /// the trouble.
    static let forcedInterval: Int64 = 60_000
    /// After a refusal; the same as for a stopped lane.
    static let refusedInterval: Int64 = 30_000

    /// What came of a request for a token.
    enum Outcome: Equatable {
        case renewed
        case refused(reason: String)
        case delayed(reason: String)
    }

    /// What comes of the wish for another token than the one there is.
    enum Demand: Equatable {
        /// It is being seen to.
        case asked
        /// It has been replaced already.
        case replaced
        /// The one before was a demand, too, and that was a moment ago.
        case tooSoon
    }

    private var issued: IssuedCredential?
    private var expiresAt: Int64 = 0
    private var generation = -1
    /// Whether somebody needs one, or will soon.
    private var isWanted = false
    private var isAsking = false
    private var askedAt: Int64 = 0
    private var askAt: Int64 = .min
    private var forcedAt: Int64?
    private var failures = 0

    /// The token to send with; nil when there is none that serves.
    func current(at now: Int64) -> IssuedCredential? { now < expiresAt ? issued : nil }

    /// The same, for who sends with it.
    mutating func use(at now: Int64) -> IssuedCredential? {
        if now >= askAt { isWanted = true }
        return current(at: now)
    }

    /// Whether the next one is under way, or will be.
    var isComing: Bool { isWanted || isAsking }

    /// When the next one is to be asked for; nil while one is, or nobody wants one.
    var nextTurn: Int64? { isAsking || !isWanted ? nil : askAt }

    /// Takes it upon the caller to ask for a token, if one is to be asked for now; false if not.
    mutating func claimRenewal(at now: Int64) -> Bool {
        guard isWanted, !isAsking, now >= askAt else { return false }
        isAsking = true
        askedAt = now
        return true
    }

    /// A token newer than that of a generation is needed: FCM has refused it, or it has run out.
    mutating func demand(after generation: Int, at now: Int64) -> Demand {
        guard let issued = current(at: now) else {
            isWanted = true
            return .asked
        }
        if issued.generation > generation { return .replaced }
        if let forcedAt, now - forcedAt < Self.forcedInterval, now >= forcedAt { return .tooSoon }
        forcedAt = now
        self.issued = nil
        askAt = now
        isWanted = true
        return .asked
    }

    /// Takes in the answer.
    mutating func take(
        _ reply: AccessTokenResponse, at now: Int64, using dice: inout some RandomNumberGenerator
    ) -> Outcome {
        isAsking = false
        switch reply {
        case .granted(let text, let seconds):
            guard askedAt + seconds * 1_000 > now else {
                askAt = now + RetrySchedule.delay(afterAttempts: failures, using: &dice)
                failures += 1
                return .delayed(reason: "it had run out before it came")
            }
            generation += 1
            issued = IssuedCredential(authorization: "Bearer " + text, generation: generation)
            // From when it was asked for: it may have been given long before the answer came.
            expiresAt = askedAt + seconds * 1_000
            askAt = askedAt + seconds * 800
            failures = 0
            isWanted = false
            return .renewed
        case .refused(let reason):
            askAt = now + Self.refusedInterval
            return .refused(reason: reason)
        case .delayed(let reason):
            askAt = now + RetrySchedule.delay(afterAttempts: failures, using: &dice)
            failures += 1
            return .delayed(reason: reason)
        }
    }
}
