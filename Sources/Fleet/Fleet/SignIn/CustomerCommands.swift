import Access
import Primitives

/// The actor, a customer, asks for a new token.
package struct RefreshToken: Command {
    package let session: TokenSession

    package init(_ session: TokenSession) { self.session = session }

    package var name: String { "token_refresh" }
    package var rows: Int { RowBound.signIn }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        // Only a token of an account that exists can be refreshed.
        guard let customer = try transaction.customer() else { return .rejected(RuleError(.signInEnded)) }
        let token = try transaction.token(of: customer, session: session.id)
        return transaction.committed(.code(SignInCodeResponse(.refreshed(token: token), at: transaction.now)))
    }
}

/// The actor, a customer, signs out.
package struct EndSession: Command {
    package let session: TokenSession

    package init(_ session: TokenSession) { self.session = session }

    package var name: String { "sign_out" }
    package var rows: Int { RowBound.signIn }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        guard let customer = try transaction.customer() else { return .rejected(RuleError(.notSignedIn)) }
        let ended = EndedTokens(key: session.id, issuedUntil: transaction.now, session: session)
        try transaction.stores.endedTokens.add(ended)
        try transaction.audit("sign_out", customer, customer)
        var result = transaction.result(.code(SignInCodeResponse(.ended, at: transaction.now)))
        result.effects = [.tokensEnded(ended)]
        return .committed(result)
    }
}

/// The actor, a customer, tells name and e-mail address.
package struct SaveBasicDetails: Command {
    package let details: BasicDetails

    package init(_ details: BasicDetails) { self.details = details }

    package var name: String { "basic_details" }
    package var rows: Int { RowBound.signIn }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        guard let stored = try transaction.customer() else { return .rejected(RuleError(.notSignedIn)) }
        if stored.email.map(BasicDetails.key(of:)) != details.emailKey, let error = try refusal(stored, transaction) {
            return .rejected(error)
        }
        let customer = stored.with(details, now: transaction.now)
        try transaction.stores.customers.store(customer, emailKey: details.emailKey)
        return try transaction.changed(stored, to: customer, name, .details(customer.registration))
    }

    /// Why the customer cannot have an e-mail address that is new to the account. Each address that another account has is
    /// remembered: a customer who names many wants to know who has an account.
    private func refusal(_ stored: Customer, _ transaction: Transaction) throws(DatabaseError) -> RuleError? {
        let (stores, time) = (transaction.stores, transaction.trustedNow)
        var refusals = try stores.customers.emailRefusals(id: stored.id)
        if let error = refusals.refusal(now: time) {
            stores.codeCounts.add(.email)
            return error
        }
        guard try stores.customers.isEmailTaken(details.emailKey, exceptBy: stored.id) else { return nil }
        refusals.record(at: time)
        try stores.customers.store(refusals, id: stored.id)
        return RuleError(.emailTaken)
    }
}

/// The actor, a customer, tells how to pay.
package struct SavePaymentMethod: Command {
    package let payment: PaymentMethod

    package init(_ payment: PaymentMethod) { self.payment = payment }

    package var name: String { "payment_method" }
    package var rows: Int { RowBound.signIn }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        guard let stored = try transaction.customer() else { return .rejected(RuleError(.notSignedIn)) }
        do throws(RuleError) { try stored.registration.checkMayPay() } catch { return .rejected(error) }
        var customer = stored
        (customer.payment, customer.updatedAt) = (payment, transaction.now)
        try transaction.stores.customers.store(customer)
        return try transaction.changed(stored, to: customer, name, .payment(customer.registration))
    }
}

extension Transaction {
    /// The account of the actor; nil if another issuer has made the token.
    fileprivate func customer() throws(DatabaseError) -> Customer? {
        try stores.customers.customer(actor)
    }

    fileprivate func changed(
        _ before: Customer, to after: Customer, _ action: String, _ content: SignInCodeResponse.Content
    ) throws(DatabaseError) -> CommandReply {
        try audit(action, before, after)
        return committed(.code(SignInCodeResponse(content, at: now)))
    }

    /// The entry names the account and the step of its registration; not the phone, nor what was entered.
    func audit(_ action: String, _ before: Customer?, _ after: Customer) throws(DatabaseError) {
        try stores.audit(
            AuditEntry(
                at: now, actor: Identity(role: .customer, id: String(after.id)).key, action: action,
                subject: .account(String(after.id)), correlationID: issued.correlationID,
                before: before.map { AuditEntry.State($0.registration) }, after: AuditEntry.State(after.registration)))
    }

    /// The most references in a token: a longer token would not fit in the head of a request.
    private static let (bookingsMax, bookingBytesMax) = (100, 3_000)

    func token(of customer: Customer, session: String) throws(DatabaseError) -> String {
        var bookings: [String] = []
        var bytes = 0
        for reference in try stores.orders.openReferences(ofCustomer: String(customer.id), most: Self.bookingsMax) {
            guard Identity.isReference(reference), !bookings.contains(reference) else { continue }
            bytes += reference.utf8.count
            guard bytes <= Self.bookingBytesMax else { break }
            bookings.append(reference)
        }
        return stores.codeRules.sign(
            CustomerTokenClaims(
                customer: customer, bookings: bookings, id: session + SignInCodeSecrets.tokenPart(), issuedAt: now / 1_000))
    }
}

extension AuditEntry.State {
    fileprivate init(_ registration: CustomerRegistration) {
        self.init(status: registration.current?.rawValue ?? CustomerRegistration.Step.profileComplete.rawValue, driverID: nil)
    }
}
