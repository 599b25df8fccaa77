import Access

/// Stores the responses to requests with an idempotency key, and finds them again.
extension CommandExecutor {
    /// The most stored responses of a driver or customer. The oldest are deleted for newer ones.
    static let responsesMax = 2_000
    /// The most stored responses of an admin: a backend may make the requests of all dispatchers with one token.
    static let adminResponsesMax = 100_000
    /// The number of responses that are deleted together, so that not each new one has to find the oldest.
    static let evictedTogether = 10

    /// Executes a command, unless its idempotency key was used already. Call it in a ``transaction(declaring:_:)``: it
    /// writes to many tables.
    package func execute(_ command: Command, now: Int64) throws(DatabaseError) -> CommandReply {
        let start = database.totalChangedRows
        declare(command.rows)
        let reply = try executeUnlessRepeated(command, now)
        checkRows(since: start, command.rows, command.action.name)
        return reply
    }

    private func executeUnlessRepeated(_ command: Command, _ now: Int64) throws(DatabaseError) -> CommandReply {
        if database.canPrefetch { try prefetch(command, now: now) }
        guard let key = command.idempotencyKey else { return try executeOnce(command, now) }
        if let stored = try idempotency.response(subject: command.actor.key, key: key.text, now: now - clockLead) {
            guard stored.digest == key.digest else { return .rejected(Self.keyReuse(key.text)) }
            return .replayed(status: stored.status, body: stored.body)
        }
        let start = database.changeMark
        let reply = try executeOnce(command, now)
        // A command that changed nothing can be executed again: storing its response would only cost space.
        if case .committed(let result) = reply, try database.hasChanged(since: start) {
            try store(result, of: command.actor, key, now)
        }
        return reply
    }

    private static func keyReuse(_ key: String) -> RuleError {
        RuleError(.conflict, "Idempotency-Key \"\(key)\" was already used for a different request")
    }

    private func store(
        _ result: CommandResult, of actor: Identity, _ key: Command.IdempotencyKey, _ now: Int64
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
