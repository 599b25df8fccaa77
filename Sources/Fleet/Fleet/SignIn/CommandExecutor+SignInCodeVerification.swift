import Access
import Primitives

/// Checks codes, and gives customers their tokens.
extension CommandExecutor {
    func verify(
        _ code: String, in id: String, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        let time = context.now - clockLead
        guard var stored = try signIns.session(id: id) else { return rejectUnknownSession() }
        let phone = stored.session.phone
        let isRight = signInDigests.verifies(SignInCodeSecrets.message(code, id), stored.digest, keyID: stored.keyID)
        let wrong = try signIns.tries(forPhone: phone, isOwn: stored.session.isOwn, since: time - SignInCodeLimits.day)
        let verdict: SignInCodeSession.Verdict
        do throws(RuleError) {
            verdict = try SignInCodeSession.verifying(
                stored.session, isRight: isRight, mayTry: codeRules.limits.mayTry(wrong: wrong, now: time), now: time)
        } catch {
            codeCounts.add(error.code == .noTriesLeft ? .wrong : .expired)
            return .rejected(error)
        }
        switch verdict {
        case .repeated:
            guard let body = stored.answer.flatMap({ body(of: $0, stored.session) }) else { return rejectUnknownSession() }
            return .committed(CommandResult(body: body))
        case .wrong(let session, let error):
            codeCounts.add(.wrong)
            stored.session = session
            try signIns.store(stored)
            try signIns.addTry(SignInCodeSecrets.randomText(), phone: phone, isOwn: session.isOwn, at: time)
            return .rejected(error)
        case .verified(let session):
            codeCounts.add(.verified)
            codeCounts.verifySeconds.append(Double(max(0, time - stored.session.sentAt)) / 1_000)
            stored.session = session
            return .committed(try signIn(&stored, command, context))
        }
    }

    /// Signs the customer in, who gets an account if the phone is new.
    private func signIn(
        _ stored: inout SignInCodeTable.Stored, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandResult {
        let (phone, now) = (stored.session.phone, context.now)
        var customer: Customer
        let known = try customers.customer(phone: phone)
        if let known {
            customer = known
            customer.lastLoginAt = now
        } else {
            customer = Customer(id: try unusedCustomerID(), phone: phone, now: now)
        }
        try customers.store(customer)
        try remember(command.client, of: phone, now - clockLead)
        if known == nil { try endUnusedCodes(ofPrefix: PhoneNumber.prefix(of: phone), now - clockLead) }
        let token = try token(of: customer, session: SignInCodeSecrets.tokenPart(), now)
        let response = SignInCodeResponse(.verified(customer, token: token), at: now)
        let result = result(.code(response), of: command)
        // Encrypted, because it contains the token.
        stored.answer = SignInCodeTable.Stored.Answer(
            sealed: outbox.keys.seal(String(decoding: result.body, as: UTF8.self), deviceID: stored.session.id),
            keyID: outbox.keys.currentID)
        try signIns.store(stored)
        if known == nil { try audit("account_created", nil, customer, command, context) }
        try audit("sign_in", known, customer, command, context)
        return result
    }

    /// The stored response to the right code.
    private func body(of answer: SignInCodeTable.Stored.Answer, _ session: SignInCodeSession) -> [UInt8]? {
        outbox.keys.open(answer.sealed, keyID: answer.keyID, deviceID: session.id).map { Array($0.utf8) }
    }

    /// The id of a new account. There may be customers of another issuer: ids that have orders or devices are left out.
    private func unusedCustomerID() throws(DatabaseError) -> Int64 {
        while true {
            let id = try customers.nextID()
            let person = Identity(role: .customer, id: String(id))
            guard try !orders.namesCustomer(person.id), try !batches.orders.namesCustomer(person.id) else { continue }
            if try outbox.devices.devices(of: person.key).isEmpty { return id }
        }
    }

    // MARK: Tokens

    /// The most references in a token: a longer token would not fit in the head of a request.
    private static let (bookingsMax, bookingBytesMax) = (100, 3_000)

    private func token(of customer: Customer, session: String, _ now: Int64) throws(DatabaseError) -> String {
        var bookings: [String] = []
        var bytes = 0
        for reference in try orders.openReferences(ofCustomer: String(customer.id), most: Self.bookingsMax) {
            guard Identity.isReference(reference), !bookings.contains(reference) else { continue }
            bytes += reference.utf8.count
            guard bytes <= Self.bookingBytesMax else { break }
            bookings.append(reference)
        }
        return codeRules.sign(
            CustomerTokenClaims(
                customer: customer, bookings: bookings, id: session + SignInCodeSecrets.tokenPart(), issuedAt: now / 1_000))
    }

    func refresh(
        _ session: TokenSession, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        // Only a token of an account that exists can be refreshed.
        guard let customer = try customer(of: command.actor) else { return .rejected(RuleError(.signInEnded)) }
        let token = try token(of: customer, session: session.id, context.now)
        return .committed(result(.code(SignInCodeResponse(.refreshed(token: token), at: context.now)), of: command))
    }

    func end(
        _ session: TokenSession, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        guard let customer = try customer(of: command.actor) else { return .rejected(RuleError(.notSignedIn)) }
        let ended = EndedTokens(key: session.id, until: endOfTokens(session, context.now))
        try endedTokens.add(ended)
        try audit("sign_out", customer, customer, command, context)
        var result = result(.code(SignInCodeResponse(.ended, at: context.now)), of: command)
        result.codes.ended = ended
        return .committed(result)
    }

    /// When no token that was issued until now can be refreshed any more, with a minute for differences between clocks.
    private func endOfTokens(_ session: TokenSession?, _ now: Int64) -> Int64 {
        let (seconds, lifetime) = (now / 1_000, CustomerTokenClaims.lifetime)
        let last = max(seconds + lifetime, session?.expiresAt ?? 0)
        return (last + CustomerTokenClaims.refreshTime + 60) * 1_000
    }

    /// Ends a customer's account: all of its tokens, and what is stored about its phone.
    /// - Returns: nil if there is no such account.
    func endAccount(of person: Identity, _ now: Int64) throws(DatabaseError) -> (Customer, EndedTokens)? {
        guard person.role == .customer, let id = Int64(person.id), let customer = try customers.customer(id: id) else {
            return nil
        }
        try signIns.erase(phone: customer.phone)
        try codeCounters.erase(phone: customer.phone)
        try customers.remove(customer)
        let ended = EndedTokens(key: person.key, until: endOfTokens(nil, now))
        try endedTokens.add(ended)
        return (customer, ended)
    }

    /// The error for commands of a customer whose sign-in by code has ended since the token was verified; otherwise nil.
    func refusal(of actor: Identity) throws(DatabaseError) -> RuleError? {
        guard let session = actor.session else { return nil }
        for key in [session.id, actor.key] where try endedTokens.contains(key) { return RuleError(.signInEnded) }
        return nil
    }

    // MARK: Accounts

    /// The account of the actor; nil if another issuer has made the token.
    private func customer(of actor: Identity) throws(DatabaseError) -> Customer? {
        guard let id = Int64(actor.id), String(id) == actor.id else { return nil }
        return try customers.customer(id: id)
    }

    func save(
        _ details: BasicDetails, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        try change(command, context) { stored throws(DatabaseError) in
            if stored.email.map(BasicDetails.key(of:)) != details.emailKey, let error = try refusal(of: details, stored, context)
            {
                return .failure(error)
            }
            let customer = stored.with(details, now: context.now)
            try customers.store(customer, emailKey: details.emailKey)
            return .success((customer, .details(customer.registration)))
        }
    }

    /// Why the customer cannot have an e-mail address that is new to the account. Each address that another account has is
    /// remembered: a customer who names many wants to know who has an account.
    private func refusal(
        of details: BasicDetails, _ stored: Customer, _ context: CommandContext
    ) throws(DatabaseError) -> RuleError? {
        var refusals = try customers.emailRefusals(id: stored.id)
        if let error = refusals.refusal(now: context.now - clockLead) {
            codeCounts.add(.email)
            return error
        }
        guard try customers.isEmailTaken(details.emailKey, exceptBy: stored.id) else { return nil }
        refusals.record(at: context.now - clockLead)
        try customers.store(refusals, id: stored.id)
        return RuleError(.emailTaken)
    }

    func save(
        _ payment: PaymentMethod, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        try change(command, context) { stored throws(DatabaseError) in
            do throws(RuleError) { try stored.registration.checkMayPay() } catch { return .failure(error) }
            var customer = stored
            (customer.payment, customer.updatedAt) = (payment, context.now)
            try customers.store(customer)
            return .success((customer, .payment(customer.registration)))
        }
    }

    private func change(
        _ command: Command, _ context: CommandContext,
        _ change: (Customer) throws(DatabaseError) -> Result<(Customer, SignInCodeResponse.Content), RuleError>
    ) throws(DatabaseError) -> CommandReply {
        guard let stored = try customer(of: command.actor) else { return .rejected(RuleError(.notSignedIn)) }
        switch try change(stored) {
        case .failure(let error): return .rejected(error)
        case .success((let customer, let content)):
            try audit(command.action.name, stored, customer, command, context)
            return .committed(result(.code(SignInCodeResponse(content, at: context.now)), of: command))
        }
    }

    /// The entry names the account and the step of its registration; not the phone, nor what was entered.
    private func audit(
        _ action: String, _ before: Customer?, _ after: Customer, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) {
        try audit(
            AuditEntry(
                at: context.now, actor: Identity(role: .customer, id: String(after.id)).key, action: action,
                subject: .account(String(after.id)), correlationID: command.correlationID,
                before: before.map { AuditEntry.State($0.registration) }, after: AuditEntry.State(after.registration)))
    }
}

extension AuditEntry.State {
    fileprivate init(_ registration: CustomerRegistration) {
        self.init(status: registration.current?.rawValue ?? CustomerRegistration.Step.profileComplete.rawValue, driverID: nil)
    }
}

extension Customer {
    /// What an erasure searches for: the texts that identify the customer.
    var identifyingTexts: [String] { [name, email, phone].compactMap { $0 } }
}
