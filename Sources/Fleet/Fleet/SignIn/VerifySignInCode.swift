import Access
import Primitives

/// Signs a customer in with a code. The session's id is the only other proof.
package struct VerifySignInCode: Command {
    package let sessionID: String
    package let code: String

    package init(sessionID: String, code: String) {
        self.sessionID = sessionID
        self.code = code
    }

    package var name: String { "code_verify" }
    package var subject: String { SignInCodeSession.shortened(sessionID) }
    package var origin: CommandOrigin { .anybody }
    package var rows: Int { RowBound.signIn }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let (stores, time) = (transaction.stores, transaction.trustedNow)
        guard var stored = try stores.signIns.session(id: sessionID) else { return transaction.rejectUnknownSession() }
        let phone = stored.session.phone
        let isRight = stores.signInDigests.verifies(
            SignInCodeSecrets.message(code, sessionID), stored.digest, keyID: stored.keyID)
        let wrong = try stores.signIns.tries(
            forPhone: phone, isOwn: stored.session.isOwn, since: time - SignInCodeLimits.day)
        let verdict: SignInCodeSession.Verdict
        do throws(RuleError) {
            verdict = try SignInCodeSession.verifying(
                stored.session, isRight: isRight, mayTry: stores.codeRules.limits.mayTry(wrong: wrong, now: time), now: time)
        } catch {
            stores.codeCounts.add(error.code == .noTriesLeft ? .wrong : .expired)
            return .rejected(error)
        }
        switch verdict {
        case .repeated:
            guard let body = stored.answer.flatMap({ body(of: $0, stored.session, stores.outbox.keys) }) else {
                return transaction.rejectUnknownSession()
            }
            return .committed(CommandResult(body: body))
        case .wrong(let session, let error):
            stores.codeCounts.add(.wrong)
            stored.session = session
            try stores.signIns.store(stored)
            try stores.signIns.addTry(SignInCodeSecrets.randomText(), phone: phone, isOwn: session.isOwn, at: time)
            return .rejected(error)
        case .verified(let session):
            stores.codeCounts.add(.verified)
            stores.codeCounts.verifySeconds.append(Double(max(0, time - stored.session.sentAt)) / 1_000)
            stored.session = session
            return .committed(try signIn(&stored, transaction))
        }
    }

    /// Signs the customer in, who gets an account if the phone is new.
    private func signIn(
        _ stored: inout SignInCodeTable.Stored, _ transaction: Transaction
    ) throws(DatabaseError) -> CommandResult {
        let (stores, phone, now) = (transaction.stores, stored.session.phone, transaction.now)
        var customer: Customer
        let known = try stores.customers.customer(phone: phone)
        if let known {
            customer = known
            customer.lastLoginAt = now
        } else {
            customer = Customer(id: try unusedCustomerID(stores), phone: phone, now: now)
        }
        try stores.customers.store(customer)
        try stores.remember(transaction.issued.client, of: phone, transaction.trustedNow)
        if known == nil { try stores.endUnusedCodes(ofPrefix: PhoneNumber.prefix(of: phone), transaction.trustedNow) }
        let token = try transaction.token(of: customer, session: SignInCodeSecrets.tokenPart())
        let response = SignInCodeResponse(.verified(customer, token: token), at: now)
        let result = transaction.result(.code(response))
        // Encrypted, because it contains the token.
        let keys = stores.outbox.keys
        stored.answer = SignInCodeTable.Stored.Answer(
            sealed: keys.seal(String(decoding: result.body, as: UTF8.self), deviceID: stored.session.id),
            keyID: keys.currentID)
        try stores.signIns.store(stored)
        if known == nil { try transaction.audit("account_created", nil, customer) }
        try transaction.audit("sign_in", known, customer)
        return result
    }

    /// The stored response to the right code.
    private func body(
        of answer: SignInCodeTable.Stored.Answer, _ session: SignInCodeSession, _ keys: DeviceKeys
    ) -> [UInt8]? {
        keys.open(answer.sealed, keyID: answer.keyID, deviceID: session.id).map { Array($0.utf8) }
    }

    /// The id of a new account. There may be customers of another issuer: ids that have orders or devices are left out.
    private func unusedCustomerID(_ stores: CommandExecutor) throws(DatabaseError) -> Int64 {
        while true {
            let id = try stores.customers.nextID()
            let person = Identity(role: .customer, id: String(id))
            guard try !stores.orders.namesCustomer(person.id), try !stores.batches.orders.namesCustomer(person.id) else {
                continue
            }
            if try stores.outbox.devices.devices(of: person.key).isEmpty { return id }
        }
    }
}
