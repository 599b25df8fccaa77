/// Which opaque tokens are known, which are being asked about, and who waits for the answers. It asks nobody: its caller
/// does, and tells it what became of that.
///
/// An answer is fresh for `cache_seconds`, and not beyond the token's `exp`. When it is not fresh any more, the backend is
/// asked again; if that fails, an answer with an `exp` counts until then, because a backend that is away signs nobody out.
/// Of each token there is one question at a time. What is bounded has its bound in ``Rules``.
package struct IntrospectedTokens<Waiter> {
    /// The bounds, and how long answers count.
    package struct Rules: Sendable {
        /// How long an answer is fresh.
        package var freshMilliseconds: Int64
        /// How long after a question has failed the old answer counts without another question.
        package var pauseMilliseconds: Int64
        /// The most tokens that are asked about at once, of those that were active and, apart from these, of all others:
        /// with random tokens, strangers could otherwise keep the gateway from asking about its users.
        package var tokensMax = 512
        /// The most requests that wait for the answer about one token.
        package var waitersMax = 32
        /// The most active tokens that are kept.
        package var activeMax = 65_536
        /// The most memory for them, estimated.
        package var activeBytesMax = 33_554_432
        /// The most tokens that are kept because they are not active. They have a place of their own, so that strangers'
        /// tokens displace nobody's.
        package var inactiveMax = 16_384

        package init(freshMilliseconds: Int64, pauseMilliseconds: Int64) {
            (self.freshMilliseconds, self.pauseMilliseconds) = (freshMilliseconds, pauseMilliseconds)
        }
    }

    /// What is known of a token.
    package struct Known: Equatable, Sendable {
        package let answer: IntrospectionAnswer
        /// Whether the answer counts only because the last question has failed.
        package let isStale: Bool
    }

    /// What ``ask(_:for:at:)`` has decided.
    package enum Asked: Equatable, Sendable {
        /// Ask the backend, then call ``finish(_:_:at:)``. `isKnown` tells whether the token was active before.
        case question(isKnown: Bool)
        /// Somebody has asked already; the waiter gets that answer.
        case joined
        /// The answer has come in between. The waiter is not kept.
        case answered(Known)
        /// Too many tokens are being asked about.
        case tooManyTokens
        /// Too many requests wait for this token's answer.
        case tooManyWaiters
    }

    fileprivate struct Question {
        let isKnown: Bool
        var waiters: [Waiter]
    }

    private let rules: Rules
    private var active: RecentAnswers
    private var inactive: RecentAnswers
    private var questions: [[UInt8]: Question] = [:]
    private var knownQuestions = 0
    /// The requests that wait.
    package private(set) var waiting = 0

    package init(_ rules: Rules) {
        self.rules = rules
        active = RecentAnswers(countMax: rules.activeMax, bytesMax: rules.activeBytesMax)
        inactive = RecentAnswers(countMax: rules.inactiveMax, bytesMax: .max)
    }

    /// The tokens that are kept, and the memory for the active ones, estimated.
    package var kept: (active: Int, inactive: Int, bytes: Int) { (active.count, inactive.count, active.byteCount) }
    /// Useful answers that were dropped for lack of room, so far.
    package var dropped: Int { active.dropped + inactive.dropped }

    /// What is known of a token; nil if the backend has to be asked.
    /// - Parameter digest: of the token.
    package mutating func lookUp(_ digest: [UInt8], at now: AnswerMoment) -> Known? {
        if let entry = active.use(digest, at: now), entry.isFresh(at: now) {
            return Known(answer: entry.answer, isStale: entry.isStale)
        }
        guard let entry = inactive.use(digest, at: now), entry.isFresh(at: now) else { return nil }
        return Known(answer: entry.answer, isStale: false)
    }

    /// Lets a request wait for the answer about a token.
    package mutating func ask(_ digest: [UInt8], for waiter: Waiter, at now: AnswerMoment) -> Asked {
        if let known = lookUp(digest, at: now) { return .answered(known) }
        if let question = questions[digest] {
            guard question.waiters.count < rules.waitersMax else { return .tooManyWaiters }
            questions[digest]?.waiters.append(waiter)
            waiting += 1
            return .joined
        }
        let isKnown = active.use(digest, at: now)?.mayBeStale(at: now) ?? false
        let others = isKnown ? knownQuestions : questions.count - knownQuestions
        guard others < rules.tokensMax else { return .tooManyTokens }
        questions[digest] = Question(isKnown: isKnown, waiters: [waiter])
        if isKnown { knownQuestions += 1 }
        waiting += 1
        return .question(isKnown: isKnown)
    }

    /// Records what became of a question.
    /// - Parameter answer: nil if the backend has not answered.
    /// - Returns: what the waiters get, nil if nothing is known; and the waiters.
    package mutating func finish(
        _ digest: [UInt8], _ answer: IntrospectionAnswer?, at now: AnswerMoment
    ) -> (known: Known?, waiters: [Waiter]) {
        let question = questions.removeValue(forKey: digest)
        if question?.isKnown == true { knownQuestions -= 1 }
        let waiters = question?.waiters ?? []
        waiting -= waiters.count
        guard let answer else { return (staleAnswer(digest, at: now), waiters) }
        keep(answer, digest, at: now)
        return (Known(answer: answer, isStale: false), waiters)
    }

    private mutating func keep(_ answer: IntrospectionAnswer, _ digest: [UInt8], at now: AnswerMoment) {
        let entry = RecentAnswers.Entry(
            answer: answer, askAgainAt: now.monotonicMilliseconds + rules.freshMilliseconds, isStale: false)
        active.remove(digest)
        inactive.remove(digest)
        guard entry.isUseful(at: now) else { return }
        if answer.isActive { active.store(entry, digest, at: now) } else { inactive.store(entry, digest, at: now) }
    }

    /// The answer from before, if it still counts. It then counts for a while without another question.
    private mutating func staleAnswer(_ digest: [UInt8], at now: AnswerMoment) -> Known? {
        guard var entry = active.use(digest, at: now), entry.mayBeStale(at: now) else { return nil }
        entry.askAgainAt = now.monotonicMilliseconds + rules.pauseMilliseconds
        entry.isStale = true
        active.store(entry, digest, at: now)
        return Known(answer: entry.answer, isStale: true)
    }
}

extension IntrospectedTokens: Sendable where Waiter: Sendable {}
extension IntrospectedTokens.Question: Sendable where Waiter: Sendable {}

/// A moment on both clocks: `exp` is a time of the wall clock, which may be set back; freshness is not prolonged by that.
package struct AnswerMoment: Sendable {
    let unixSeconds: Int64
    let monotonicMilliseconds: Int64

    package init(unixSeconds: Int64, monotonicMilliseconds: Int64) {
        (self.unixSeconds, self.monotonicMilliseconds) = (unixSeconds, monotonicMilliseconds)
    }
}
