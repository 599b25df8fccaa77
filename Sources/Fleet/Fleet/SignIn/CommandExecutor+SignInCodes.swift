import Primitives

/// How codes are limited, and how tokens are made.
package struct SignInCodeRules: Sendable {
    package var limits = SignInCodeLimits()
    /// Signs a customer's token. Called on the writer's thread.
    package var sign: @Sendable (CustomerTokenClaims) -> String = { _ in "" }

    package init() {}
}

/// What the gateway does for sign-in by code after the commit.
package struct SignInCodeEffects: Equatable, Sendable {
    /// The SMS to send. The reply waits until it is known what became of it.
    package internal(set) var message: SignInCodeMessage?
    /// The session whose SMS is being sent: the reply is that to the request which has caused it.
    package internal(set) var awaited: String?
    /// Tokens to refuse from now on.
    package internal(set) var ended: EndedTokens?
}

/// Sends codes. `+CodeVerification` checks those that were typed.
///
/// All times here are the trusted ones: a jump of the wall clock must neither end a code nor lift a limit.
extension CommandExecutor {
    func execute(
        _ request: SignInCodeCommand, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        switch request {
        case .login(let number): try logIn(number.text, command, context.now)
        case .resend(let id): try resend(id, command, context.now)
        case .delivered(let sms): try finish(sms, command, context.now)
        case .verify(let id, let code): try verify(code, in: id, command, context)
        case .refresh(let session): try refresh(session, command, context)
        case .endSession(let session): try end(session, command, context)
        case .saveDetails(let details): try save(details, command, context)
        case .savePayment(let payment): try save(payment, command, context)
        }
    }

    private func logIn(_ phone: String, _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandReply {
        let time = now - clockLead
        let isOwn = try isOwn(command.client, of: phone, time)
        if let newest = try newestSession(ofPhone: phone, isOwn: isOwn, time), newest.answersLogin(now: time) {
            codeCounts.add(.cooldown)
            var result = self.result(sent(newest, isResent: false, now), of: command)
            if newest.smsState == .sending { result.codes.awaited = newest.id }
            return .committed(result)
        }
        let recipient = try recipient(phone, isOwn: isOwn, client: command.client)
        if let refusal = try refusal(of: recipient, time) {
            count(refusal, phone: phone)
            return .rejected(refusal.error)
        }
        let session = SignInCodeSession(id: "temp_" + SignInCodeSecrets.randomText(), phone: phone, isOwn: isOwn, now: time)
        return .committed(try send(session, to: recipient, isResent: false, sends: 1, time))
    }

    private func resend(_ id: String, _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandReply {
        let time = now - clockLead
        guard let stored = try signIns.session(id: id) else { return rejectUnknownSession() }
        let (phone, isOwn) = (stored.session.phone, stored.session.isOwn)
        let newest = try newestSession(ofPhone: phone, isOwn: isOwn, time)
        let isCooling = max(stored.session.cooldownSeconds(now: time), newest?.cooldownSeconds(now: time) ?? 0) > 0
        let recipient = try recipient(phone, isOwn: isOwn, client: command.client)
        let refusal = isCooling ? nil : try refusal(of: recipient, time)
        let session: SignInCodeSession
        do throws(RuleError) {
            session = try SignInCodeSession.resending(stored.session, newest: newest, refusal: refusal?.error, now: time)
        } catch {
            if let refusal, refusal.error.code == error.code {
                count(refusal, phone: phone)
            } else {
                codeCounts.add(error.kind == .limited ? .cooldown : .expired)
            }
            return .rejected(error)
        }
        return .committed(try send(session, to: recipient, isResent: true, sends: stored.sends + 1, time))
    }

    private func newestSession(
        ofPhone phone: String, isOwn: Bool, _ time: Int64
    ) throws(DatabaseError) -> SignInCodeSession? {
        try signIns.newest(ofPhone: phone, isOwn: isOwn, until: time + SignInCodeSession.setBackMax)?.session
    }

    func rejectUnknownSession() -> CommandReply {
        codeCounts.add(.expired)
        return .rejected(RuleError(.sessionOver))
    }

    /// Counts a refusal to send a code.
    private func count(_ refusal: SignInCodeRefusal, phone: String) {
        codeCounts.add(.limited)
        codeCounts.add(refusal.limit, phone: phone)
    }

    /// Makes a code and stores its digest. The SMS is sent after the commit.
    private func send(
        _ session: SignInCodeSession, to recipient: SignInCodeRecipient, isResent: Bool, sends: Int, _ time: Int64
    ) throws(DatabaseError) -> CommandResult {
        let (code, sendID) = (SignInCodeSecrets.code(), SignInCodeSecrets.randomText())
        let (keyID, digest) = signInDigests.digest(of: SignInCodeSecrets.message(code, session.id))
        try signIns.store(
            SignInCodeTable.Stored(session: session, sendID: sendID, sends: sends, keyID: keyID, digest: digest, answer: nil))
        try count(sendID, to: recipient, time)
        // This body is not sent: the client gets the response to the outcome of the SMS.
        var result = CommandResult(body: [])
        result.codes.message = SignInCodeMessage(
            sessionID: session.id, sendID: sendID, isResent: isResent, phone: session.phone, code: code)
        return result
    }

    /// Records what became of an SMS. The reply is the response to the request that has caused it.
    private func finish(_ sms: SignInCodeSMS, _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandReply {
        codeCounts.add(sms.isSent ? .sent : .failed)
        let time = now - clockLead
        guard var stored = try signIns.session(id: sms.sessionID), stored.sendID == sms.sendID else {
            return .rejected(.codeNotSent)  // The person was erased meanwhile.
        }
        // An SMS that may have been sent counts, and so does a code that was tried, even if the adapter says that it was
        // not sent: else an adapter that is out of order would lift all limits.
        if !sms.isSent, !sms.mayBeSent, stored.session.triesLeft == SignInCodeSession.triesMax,
            stored.session.verifiedAt == nil
        {
            try withdraw(sms.sendID, time)
        }
        stored.session.delivered(sms.isSent, now: time)
        try signIns.store(stored)
        guard sms.isSent else { return .rejected(.codeNotSent) }
        var result = self.result(sent(stored.session, isResent: sms.isResent, now), of: command)
        // For logins that wait for the same SMS.
        if sms.isResent { result.repetitionBody = self.result(sent(stored.session, isResent: false, now), of: command).body }
        return .committed(result)
    }

    private func sent(_ session: SignInCodeSession, isResent: Bool, _ now: Int64) -> CommandResponse {
        let time = now - clockLead
        return .code(
            SignInCodeResponse(
                .sent(
                    sessionID: session.id, isResent: isResent, expiresIn: session.secondsLeft(now: time),
                    cooldown: session.cooldownSeconds(now: time)), at: now))
    }

    /// The SMS that an earlier process was sending may have been sent or not. Call it at the start.
    /// - Parameter time: in a cluster, other nodes may be sending what is newer: milliseconds since 1970.
    package func recoverCodes(sentBefore time: Int64 = .max) throws(DatabaseError) -> Int {
        try transaction { () throws(DatabaseError) in try signIns.forgetSending(before: time) }
    }

    /// Calls `each` for all tokens that have ended. Used at the start.
    package func eachEndedTokens(_ each: (EndedTokens) -> Void) throws(DatabaseError) { try endedTokens.each(each) }

    /// The accounts to which nobody can sign in, because another account has the same phone: see
    /// ``CustomerTable/duplicates()``.
    package func customerDuplicates() throws(DatabaseError) -> [(id: Int64, other: Int64)] { try customers.duplicates() }

    func deleteExpiredCodes(now: Int64, most: Int) throws(DatabaseError) -> Int {
        try signIns.deleteExpired(now: now, most: most) + codeCounters.deleteExpired(now: now, most: most)
            + endedTokens.deleteExpired(now: now, most: most)
    }
}
