import Access
import Primitives

/// How codes are limited, and how tokens are made.
package struct SignInCodeRules: Sendable {
    package var limits = SignInCodeLimits()
    /// Signs a customer's token. Called on the writer's thread.
    package var sign: @Sendable (CustomerTokenClaims) -> String = { _ in "" }

    package init() {}
}

/// What is done for sign-in by code besides its commands.
extension CommandExecutor {
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

    /// Ends a customer's account: all of its tokens, and what is stored about its phone.
    /// - Returns: nil if there is no such account.
    func endAccount(of person: Identity, _ now: Int64) throws(DatabaseError) -> (Customer, EndedTokens)? {
        guard let customer = try customers.customer(person) else { return nil }
        try signIns.erase(phone: customer.phone)
        try codeCounters.erase(phone: customer.phone)
        try customers.remove(customer)
        let ended = EndedTokens(key: person.key, issuedUntil: now, session: nil)
        try endedTokens.add(ended)
        return (customer, ended)
    }

    /// The error for commands of a customer whose sign-in by code has ended since the token was verified; otherwise nil.
    func refusal(of sender: Sender) throws(DatabaseError) -> RuleError? {
        guard let person = sender.person, let session = person.session else { return nil }
        for key in [session.id, person.key] where try endedTokens.contains(key) { return RuleError(.signInEnded) }
        return nil
    }
}

extension EndedTokens {
    /// Ends when no token that was issued until then can be refreshed any more, with a minute for differences between clocks.
    init(key: String, issuedUntil now: Int64, session: TokenSession?) {
        let last = max(now / 1_000 + CustomerTokenClaims.lifetime, session?.expiresAt ?? 0)
        self.init(key: key, until: (last + CustomerTokenClaims.refreshTime + 60) * 1_000)
    }
}

extension Customer {
    /// What an erasure searches for: the texts that identify the customer.
    var identifyingTexts: [String] { [name, email, phone].compactMap { $0 } }
}
