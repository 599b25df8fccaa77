/// Changes which notifications the actor gets as pushes, and when.
package struct UpdatePreferences: Command {
    package let changes: PreferenceChanges

    package init(_ changes: PreferenceChanges) { self.changes = changes }

    package var name: String { "preferences" }
    package var rows: Int { 1 }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let (outbox, owner) = (transaction.stores.outbox, transaction.actor.key)
        var preferences = outbox.decodedPreferences(try outbox.preferences.json(of: owner), of: owner)
        do throws(RuleError) { try changes.apply(to: &preferences) } catch { return .rejected(error) }
        try outbox.preferences.store(preferences, of: owner, now: transaction.now)
        return transaction.committed(.preferences(preferences, unknown: changes.unknown))
    }
}
