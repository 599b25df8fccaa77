import Access

/// Stores the responses to requests with an idempotency key, and finds them again.
extension CommandExecutor {
    /// The most stored responses of a driver or customer. The oldest are deleted for newer ones.
    static let responsesMax = 2_000
    /// The most stored responses of an admin: a backend may make the requests of all dispatchers with one token.
    static let adminResponsesMax = 100_000
    /// The number of responses that are deleted together, so that not each new one has to find the oldest.
    static let evictedTogether = 10

    /// Executes a command, unless its idempotency key was used already. Call it in a ``transaction(declaring:_:)``: it writes to
    /// many tables.
    package func execute(_ issued: IssuedCommand, now: Int64) throws(DatabaseError) -> CommandReply {
        let start = database.totalChangedRows
        declare(issued.rows)
        let reply = try executeUnlessRepeated(transaction(for: issued, now))
        checkRows(since: start, issued.rows, issued.command.name)
        return reply
    }

    private func executeUnlessRepeated(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let (issued, now) = (transaction.issued, transaction.now)
        if database.canPrefetch { try issued.command.prefetch(transaction) }
        guard let key = issued.idempotencyKey, let actor = issued.sender.person else { return try executeOnce(transaction) }
        if let stored = try idempotency.response(subject: actor.key, key: key.text, now: now - clockLead) {
            guard stored.digest == key.digest else { return .rejected(RuleError(.keyReuse, key.text)) }
            return .replayed(status: stored.status, body: stored.body)
        }
        let start = database.changeMark
        let reply = try executeOnce(transaction)
        // A command that changed nothing can be executed again: storing its response would only cost space.
        if case .committed(let result) = reply, try database.hasChanged(since: start) {
            try store(result, of: actor, key, now)
        }
        return reply
    }

    private func store(
        _ result: CommandResult, of actor: Identity, _ key: IssuedCommand.IdempotencyKey, _ now: Int64
    ) throws(DatabaseError) {
        let subject = actor.key
        let count = try responseCounts.count(of: subject) { () throws(DatabaseError) in
            try idempotency.count(of: subject)
        }
        if count >= (actor.role == .admin ? Self.adminResponsesMax : Self.responsesMax) {
            counter.counts.evictedResponses += try idempotency.deleteOldest(of: subject, most: Self.evictedTogether)
            responseCounts.remove(subject)
        }
        let response = IdempotencyTable.StoredResponse(
            digest: key.digest, status: 200, body: result.repetitionBody ?? result.body)
        try idempotency.store(response, subject: subject, key: key.text, now: now)
        responseCounts.addOne(to: subject)
    }
}
