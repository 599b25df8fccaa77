import Fleet
import Primitives

/// A circuit breaker for rejections of a kind that is normally rare: a token that is not valid here, an unknown topic,
/// project or path. Such a rejection concerns one device or one push, or it is the effect of a wrong configuration, and
/// then every push gets it. Only the answers to other pushes tell the two apart.
///
/// So the lane *suspends* such a rejection instead of acting on it. If most of the last answers are such rejections,
/// the breaker opens: the lane stops, and the suspended jobs go back to the queue. Otherwise the rejection is confirmed
/// after a while: the job fails, and the device is removed if the rejection concerns its token.
struct RejectionBreaker {
    /// The rejection of a push.
    struct Rejection: Equatable {
        let job: PushJob
        let reason: String
        /// Nil if the rejection does not concern the token.
        let removal: DeviceRemoval?
        /// Seconds from the request's start to its end.
        let seconds: Double
        /// When the rejection arrived: milliseconds since 1970.
        let at: Int64
    }

    private struct Answer {
        /// The recipient of a push that was rejected doubtfully; nil for all other answers.
        let rejectedRecipient: String?
        let at: Int64
    }

    /// The number of answers that the breaker considers.
    static let answersMax = 20
    /// The breaker does not open if the rejections concern fewer recipients. Not devices: one user can register many
    /// invalid tokens, and would stop the pushes of all others.
    static let recipientsMin = 10
    /// Milliseconds for which an answer counts. In a lane with little traffic, invalid tokens would add up to a majority
    /// in weeks.
    static let answerLifetime: Int64 = 3_600_000

    /// The last answers, at most ``answersMax``.
    private var answers: [Answer] = []
    /// The rejections that are not decided yet.
    private(set) var suspended: [Rejection] = []
    /// Whether the configuration seems to be wrong. It remains open until a probe gets another answer.
    private(set) var isOpen = false

    /// Records an answer that is no doubtful rejection: the provider accepted the push, or rejected it for another
    /// reason.
    mutating func recordOther(at now: Int64) { record(Answer(rejectedRecipient: nil, at: now)) }

    /// Suspends a doubtful rejection.
    /// - Returns: whether the breaker is to open (``open()``).
    mutating func suspend(_ rejection: Rejection) -> Bool {
        record(Answer(rejectedRecipient: rejection.job.recipient, at: rejection.at))
        suspended.append(rejection)
        return doubtfulCount > Self.answersMax / 2 && rejectedRecipients >= Self.recipientsMin
    }

    /// Opens the breaker: the answers so far say nothing about the next configuration.
    /// - Returns: the suspended rejections.
    mutating func open() -> [Rejection] {
        isOpen = true
        answers = []
        return takeSuspended()
    }

    /// The provider gave another answer to a probe.
    mutating func close() { isOpen = false }

    /// Removes and returns all suspended rejections.
    mutating func takeSuspended() -> [Rejection] {
        defer { suspended = [] }
        return suspended
    }

    /// Removes and returns the rejections that are confirmed: old enough, while the breaker did not open. A clock that
    /// was set back confirms them early.
    mutating func takeConfirmed(at now: Int64) -> [Rejection] {
        guard !suspended.isEmpty else { return [] }
        let delay = delay
        let isConfirmed = { (rejection: Rejection) in now - rejection.at >= delay || now < rejection.at }
        defer { suspended.removeAll(where: isConfirmed) }
        return suspended.filter(isConfirmed)
    }

    /// When ``takeConfirmed(at:)`` returns the next rejection, if no further answer arrives: milliseconds since 1970;
    /// nil if none is suspended.
    var nextTurn: Int64? { suspended.map(\.at).min().map { $0 + delay } }

    /// Milliseconds until a rejection is confirmed. While doubtful rejections are the majority, each recipient who gets
    /// one doubles the time: otherwise, a configuration error would cost a fleet with few pushes its devices one by one.
    private var delay: Int64 {
        guard doubtfulCount * 2 > answers.count else { return Timing.rejectionConfirmation }
        return Timing.rejectionConfirmation << Int64(rejectedRecipients - 1)
    }

    private var doubtfulCount: Int { answers.count { $0.rejectedRecipient != nil } }

    private var rejectedRecipients: Int { Set(answers.lazy.compactMap(\.rejectedRecipient)).count }

    private mutating func record(_ answer: Answer) {
        // An answer from the future shows that the clock was set back.
        answers.removeAll { !(0..<Self.answerLifetime).contains(answer.at - $0.at) }
        if answers.count == Self.answersMax { answers.removeFirst() }
        answers.append(answer)
    }
}
