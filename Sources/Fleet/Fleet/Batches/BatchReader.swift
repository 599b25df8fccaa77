import Access
import Primitives

/// Executes queries about batches of orders.
struct BatchReader {
    private let batches: BatchTable
    private let accounts: AccountTable

    init(_ batches: BatchTable, _ accounts: AccountTable) {
        self.batches = batches
        self.accounts = accounts
    }

    /// The most batches that are looked at for a list: those with the earliest ends of their windows.
    private static let listMax = 5_000

    /// - Parameter person: the driver who asks; of ``BatchQuery/one(_:)`` an admin.
    func execute(_ query: BatchQuery, by person: Identity) throws(DatabaseError) -> Result<QueryResult, RuleError> {
        if case .one(let id) = query {
            return try batches.batch(id).map { .success(.batch(.one($0))) } ?? .failure(RuleError(.unknownBatch))
        }
        switch try accounts.approvedAccount(of: person) {
        case .failure(let refusal): return .failure(refusal)
        case .success(let account): return try execute(query, by: account)
        }
    }

    private func execute(_ query: BatchQuery, by account: Account) throws(DatabaseError) -> Result<QueryResult, RuleError> {
        switch query {
        case .one: preconditionFailure("only admins read a whole batch")
        case .available(let listing):
            return .success(.batch(.available(listing.entries(try batches.waiting(most: Self.listMax)))))
        case .read(.current):
            let batch = try batches.active(of: account.id)
            if batch?.needsAcknowledgement(by: account.id) == true { return .success(.mustWrite) }
            return .success(.batch(.read(.current(batch))))
        case .read(.details(let id)): return try details(of: id, for: account)
        case .summary(let since, let currency):
            let completed = try batches.completed(of: account.id, since: since ?? 0)
            return .success(.batch(.summary(DeliverySummary(completed, in: nil), currency: currency)))
        }
    }

    private func details(of id: ObjectID, for account: Account) throws(DatabaseError) -> Result<QueryResult, RuleError> {
        guard let batch = try batches.batch(id) else { return .failure(RuleError(.unknownBatch)) }
        let view: Batch.View
        do throws(RuleError) { view = try batch.view(for: account.id) } catch { return .failure(error) }
        if batch.needsAcknowledgement(by: account.id) { return .success(.mustWrite) }
        let driver = view == .whole ? account : nil
        return .success(.batch(.read(.details(batch, view, driver: driver))))
    }
}
