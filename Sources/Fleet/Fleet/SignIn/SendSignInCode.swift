import Primitives

/// Sends a code to a phone. Needs no token.
///
/// All times here are the trusted ones: a jump of the wall clock must neither end a code nor lift a limit.
package struct SendSignInCode: Command {
    package let number: PhoneNumber

    package init(_ number: PhoneNumber) { self.number = number }

    package var name: String { "code_login" }
    package var subject: String { PhoneNumber.masked(number.text) }
    package var origin: CommandOrigin { .anybody }
    package var rows: Int { RowBound.signIn }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let (stores, time, phone) = (transaction.stores, transaction.trustedNow, number.text)
        let isOwn = try stores.isOwn(transaction.issued.client, of: phone, time)
        if let newest = try transaction.newestSession(ofPhone: phone, isOwn: isOwn), newest.answersLogin(now: time) {
            stores.codeCounts.add(.cooldown)
            let result = transaction.result(transaction.sent(newest, isResent: false))
            guard newest.smsState == .sending else { return .committed(result) }
            return .deferred(DeferredResult(token: newest.id, otherwise: result))
        }
        let recipient = try stores.recipient(phone, isOwn: isOwn, client: transaction.issued.client)
        if let refusal = try stores.refusal(of: recipient, time) {
            transaction.count(refusal, phone: phone)
            return .rejected(refusal.error)
        }
        let session = SignInCodeSession(id: "temp_" + SignInCodeSecrets.randomText(), phone: phone, isOwn: isOwn, now: time)
        return .deferred(try transaction.send(session, to: recipient, isResent: false, sends: 1))
    }
}

/// Sends another code to the phone of a session. The session's id is the only proof.
package struct ResendSignInCode: Command {
    package let sessionID: String

    package init(sessionID: String) { self.sessionID = sessionID }

    package var name: String { "code_resend" }
    package var subject: String { SignInCodeSession.shortened(sessionID) }
    package var origin: CommandOrigin { .anybody }
    package var rows: Int { RowBound.signIn }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let (stores, time) = (transaction.stores, transaction.trustedNow)
        guard let stored = try stores.signIns.session(id: sessionID) else { return transaction.rejectUnknownSession() }
        let (phone, isOwn) = (stored.session.phone, stored.session.isOwn)
        let newest = try transaction.newestSession(ofPhone: phone, isOwn: isOwn)
        let isCooling = max(stored.session.cooldownSeconds(now: time), newest?.cooldownSeconds(now: time) ?? 0) > 0
        let recipient = try stores.recipient(phone, isOwn: isOwn, client: transaction.issued.client)
        let refusal = isCooling ? nil : try stores.refusal(of: recipient, time)
        let session: SignInCodeSession
        do throws(RuleError) {
            session = try SignInCodeSession.resending(stored.session, newest: newest, refusal: refusal?.error, now: time)
        } catch {
            if let refusal, refusal.error == error {
                transaction.count(refusal, phone: phone)
            } else {
                stores.codeCounts.add(error.kind == .limited ? .cooldown : .expired)
            }
            return .rejected(error)
        }
        return .deferred(try transaction.send(session, to: recipient, isResent: true, sends: stored.sends + 1))
    }
}

/// The gateway itself: the adapter has taken an SMS, or finally not. The reply is the response to the request that has caused
/// the SMS.
package struct RecordSignInSMS: Command {
    package let sms: SignInCodeSMS

    package init(_ sms: SignInCodeSMS) { self.sms = sms }

    package var name: String { "code_delivered" }
    /// A client waits for the outcome, and the SMS may have been sent.
    package var priority: RequestPriority { .jobs }
    package var subject: String { SignInCodeSession.shortened(sms.sessionID) }
    package var origin: CommandOrigin { .awaited("system:codes") }
    package var resolvedToken: String? { sms.sessionID }
    package var rows: Int { RowBound.signIn }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let (stores, time) = (transaction.stores, transaction.trustedNow)
        stores.codeCounts.add(sms.isSent ? .sent : .failed)
        guard var stored = try stores.signIns.session(id: sms.sessionID), stored.sendID == sms.sendID else {
            return .rejected(.codeNotSent)  // The person was erased meanwhile.
        }
        // An SMS that may have been sent counts, and so does a code that was tried, even if the adapter says that it was
        // not sent: else an adapter that is out of order would lift all limits.
        if !sms.isSent, !sms.mayBeSent, stored.session.triesLeft == SignInCodeSession.triesMax,
            stored.session.verifiedAt == nil
        {
            try stores.withdraw(sms.sendID, time)
        }
        stored.session.delivered(sms.isSent, now: time)
        try stores.signIns.store(stored)
        guard sms.isSent else { return .rejected(.codeNotSent) }
        var result = transaction.result(transaction.sent(stored.session, isResent: sms.isResent))
        // For logins that wait for the same SMS.
        if sms.isResent { result.repetitionBody = transaction.result(transaction.sent(stored.session, isResent: false)).body }
        return .committed(result)
    }
}

extension RowBound {
    /// A session, its code or the account, and what counts for the limits.
    static let signIn = 8
}

extension Transaction {
    fileprivate func newestSession(ofPhone phone: String, isOwn: Bool) throws(DatabaseError) -> SignInCodeSession? {
        try stores.signIns.newest(ofPhone: phone, isOwn: isOwn, until: trustedNow + SignInCodeSession.setBackMax)?.session
    }

    func rejectUnknownSession() -> CommandReply {
        stores.codeCounts.add(.expired)
        return .rejected(RuleError(.sessionOver))
    }

    /// Counts a refusal to send a code.
    fileprivate func count(_ refusal: SignInCodeRefusal, phone: String) {
        stores.codeCounts.add(.limited)
        stores.codeCounts.add(refusal.limit, phone: phone)
    }

    /// Makes a code and stores its digest. The SMS is sent after the commit; the reply is that to its outcome.
    fileprivate func send(
        _ session: SignInCodeSession, to recipient: CommandExecutor.SignInCodeRecipient, isResent: Bool, sends: Int
    ) throws(DatabaseError) -> DeferredResult {
        let (code, sendID) = (SignInCodeSecrets.code(), SignInCodeSecrets.randomText())
        let (keyID, digest) = stores.signInDigests.digest(of: SignInCodeSecrets.message(code, session.id))
        try stores.signIns.store(
            SignInCodeTable.Stored(session: session, sendID: sendID, sends: sends, keyID: keyID, digest: digest, answer: nil))
        try stores.count(sendID, to: recipient, trustedNow)
        let message = SignInCodeMessage(
            sessionID: session.id, sendID: sendID, isResent: isResent, phone: session.phone, code: code)
        return DeferredResult(token: session.id, effects: [.codeToSend(message)])
    }

    fileprivate func sent(_ session: SignInCodeSession, isResent: Bool) -> CommandResponse {
        .code(
            SignInCodeResponse(
                .sent(
                    sessionID: session.id, isResent: isResent, expiresIn: session.secondsLeft(now: trustedNow),
                    cooldown: session.cooldownSeconds(now: trustedNow)), at: now))
    }
}
