import Access

extension AccountTable {
    /// The account of a driver who acts, by the Firebase user or, with a token of another issuer, by the id in channels.
    /// - Returns: a failure if there is none, or it is not approved.
    func approvedAccount(of actor: Identity) throws(DatabaseError) -> Result<Account, RuleError> {
        let account = try account(of: actor)
        if let refusal = AccountGate.refusal(.approved, account?.entry) { return .failure(refusal) }
        return account.map { .success($0) } ?? .failure(RuleError(.unknownAccount))
    }

    /// The account of a driver who acts; nil if there is none.
    func account(of actor: Identity) throws(DatabaseError) -> Account? {
        if let user = actor.firebase { return try account(uid: user.uid) }
        return try account(personID: actor.id)
    }
}
