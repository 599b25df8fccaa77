/// Codes that customers enter, and how many may be wrong.
extension SignInCodeSession {
    /// Wrong codes after which the right one is refused, too.
    package static let triesMax = 5

    /// What a code leads to.
    package enum Verdict: Equatable, Sendable {
        /// The customer is signed in. The caller stores the session and the answer.
        case verified(SignInCodeSession)
        /// The same request again: the caller sends the stored answer.
        case repeated
        /// The caller stores the session with one try less, and sends the error.
        case wrong(SignInCodeSession, RuleError)
    }

    /// Judges a code.
    /// - Parameters:
    ///   - stored: nil if there is no such session.
    ///   - isRight: whether the digests are equal, compared in constant time.
    ///   - mayTry: whether the phone has tries left (``SignInCodeLimits/mayTry(wrong:now:)``).
    /// - Throws: `.invalid` (400) if no code can be right any more; nothing is to be stored then.
    package static func verifying(
        _ stored: SignInCodeSession?, isRight: Bool, mayTry: Bool = true, now: Int64
    ) throws(RuleError) -> Verdict {
        guard var session = stored else { throw RuleError(.sessionOver) }
        if let verifiedAt = session.verifiedAt {
            guard isRight, (0..<repetitionTime).contains(now - verifiedAt) else { throw RuleError(.sessionOver) }
            return .repeated
        }
        guard !session.isOver(now) else { throw RuleError(.sessionOver) }
        guard session.triesLeft > 0, mayTry else { throw RuleError(.noTriesLeft) }
        guard !session.isExpired(now) else { throw RuleError(.codeExpired) }
        if isRight {
            session.verifiedAt = now
            return .verified(session)
        }
        session.triesLeft -= 1
        let left = session.triesLeft
        let error =
            left == 0 ? RuleError(.noTriesLeft) : RuleError(.wrongDigits, figures: [.init("attempts_remaining", left)])
        return .wrong(session, error)
    }
}
