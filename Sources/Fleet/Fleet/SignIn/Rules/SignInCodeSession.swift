import Primitives

/// A sign-in by a code that was sent to a phone. The code itself is not here: the caller compares digests. Times are
/// milliseconds since 1970.
package struct SignInCodeSession: Equatable, Sendable {
    package enum SMSState: String, CaseIterable, Sendable {
        /// The code is on its way to the operator's SMS adapter.
        case sending
        case sent
        /// The adapter did not take the code, so it is good for nothing, and the next may be sent at once.
        case failed
        /// The gateway was killed before it knew. The code is good, because the SMS may have arrived, and the next may be
        /// sent at once, because it may not.
        case unknown
    }

    /// `temp_user_id`.
    package let id: String
    /// See ``PhoneNumber/text``.
    package let phone: String
    /// Whether it was begun from one of the phone's own addresses (``SignInCodeLimits/isOwnAddress(signedInAt:now:)``). Codes and
    /// tries of such sessions have limits of their own, and nobody else gets their ids: so strangers who know the number
    /// cannot lock the phone.
    package let isOwn: Bool
    package var smsState = SMSState.sending
    /// When the present code was made or, once it is known, when its SMS was sent.
    package var sentAt: Int64
    package var triesLeft = SignInCodeSession.triesMax
    /// When the right code came. The session is over then.
    package var verifiedAt: Int64?

    /// Milliseconds for which a code is good.
    static let lifetime: Int64 = 300_000
    /// Milliseconds by which the clock may be set back without an end of the code.
    package static let setBackMax: Int64 = 60_000
    /// Milliseconds between two codes.
    static let cooldown: Int64 = 60_000
    /// Milliseconds after the end of the code for which another one may be sent in this session.
    static let resendTime: Int64 = 3_600_000
    /// Milliseconds for which a repeated request gets the stored answer.
    package static let repetitionTime: Int64 = 60_000
    /// Milliseconds for which a session must be kept.
    package static let keptTime = lifetime + resendTime

    /// An id as the log shows it: the whole id is a secret.
    static func shortened(_ id: String) -> String { String(Substring(id.utf8.prefix(9))) + "…" }

    /// A session whose first code is to be sent.
    package init(id: String, phone: String, isOwn: Bool = false, now: Int64) {
        self.id = id
        self.phone = phone
        self.isOwn = isOwn
        sentAt = now
    }

    /// The seconds for which the code is good, 0 to 300.
    package func secondsLeft(now: Int64) -> Int { Self.seconds(sentAt + Self.lifetime - now, most: Self.lifetime) }

    /// The seconds until another code may be sent, 0 to 60.
    package func cooldownSeconds(now: Int64) -> Int {
        isCoolingDown(now) ? Self.seconds(sentAt + Self.cooldown - now, most: Self.cooldown) : 0
    }

    /// The adapter has taken the SMS, or finally not. What has happened to the code meanwhile stays.
    package mutating func delivered(_ isSent: Bool, now: Int64) {
        guard smsState == .sending else { return }
        smsState = isSent ? .sent : .failed
        // The times that the app counts down begin with the answer, not before the SMS.
        if isSent, verifiedAt == nil { sentAt = now }
    }

    private static func seconds(_ milliseconds: Int64, most: Int64) -> Int {
        Int((min(max(milliseconds, 0), most) + 999) / 1_000)
    }

    /// Ignores a time far in the future, which the clock had before it was set back: it must not block the phone.
    private func isCoolingDown(_ now: Int64) -> Bool {
        (smsState == .sending || smsState == .sent) && verifiedAt == nil
            && (-Self.setBackMax..<Self.cooldown).contains(now - sentAt)
    }

    /// A code of a time far ahead stems from before a clock correction: it must not be good for so long.
    func isExpired(_ now: Int64) -> Bool {
        smsState == .failed || !(-Self.setBackMax..<Self.lifetime).contains(now - sentAt)
    }

    func isOver(_ now: Int64) -> Bool { verifiedAt != nil || now - sentAt >= Self.keptTime }
}

// MARK: Calls

extension SignInCodeSession {
    /// Whether a login gets the present session again, without another SMS, even if its code has no tries left: else wrong
    /// codes would make the next SMS come sooner.
    package func answersLogin(now: Int64) -> Bool { isCoolingDown(now) }

    /// Starts another code in a session.
    /// - Parameters:
    ///   - stored: nil if there is no such session.
    ///   - newest: the session of the phone's last code with the same ``isOwn``, which may be another one.
    ///   - refusal: as ``SignInCodeLimits/refusal(_:now:)`` returns it.
    /// - Throws: `.invalid` (400) if the session is over; `.limited` (429) while the phone's last code is too fresh, and
    ///   as `refusal` says.
    package static func resending(
        _ stored: SignInCodeSession?, newest: SignInCodeSession? = nil, refusal: RuleError?, now: Int64
    ) throws(RuleError) -> SignInCodeSession {
        guard var session = stored, !session.isOver(now) else { throw RuleError(.sessionOver) }
        let wait = max(session.cooldownSeconds(now: now), newest?.cooldownSeconds(now: now) ?? 0)
        guard wait == 0 else {
            throw RuleError(.codeCooldown, retryAfterSeconds: wait, figures: [.init("cooldown_remaining", wait)])
        }
        if let refusal { throw refusal }
        session.sentAt = now
        session.triesLeft = Self.triesMax
        session.smsState = .sending
        return session
    }
}

extension RuleError {
    /// The SMS has failed: the customer may try again at once.
    package static let codeNotSent = RuleError(.codeNotSent, retryAfterSeconds: 1)
}
