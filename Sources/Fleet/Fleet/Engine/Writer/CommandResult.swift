/// The result of an executed command: the response, and what to publish after the commit.
package struct CommandResult: Equatable, Sendable {
    /// The response's JSON.
    package let body: [UInt8]
    /// The JSON of the response to a repetition of the request with the same idempotency key; nil: ``body``.
    package internal(set) var repetitionBody: [UInt8]?
    /// The notifications to publish, in the order of publication.
    package let notifications: [Notification]
    /// The number of each of ``notifications`` in its channel's sequence.
    package internal(set) var sequences: [Int64]
    /// The entry that the command added to the audit log; nil if it added none.
    package internal(set) var audit: AuditEntry?
    /// Whether the command repeated the one before it, and changed nothing.
    package internal(set) var isRepetition = false
    /// What else follows.
    package internal(set) var effects: [CommitEffect]

    /// The response to a repetition of the request, which publishes nothing.
    package var forRepetition: CommandResult { CommandResult(body: repetitionBody ?? body) }

    init(
        body: [UInt8], notifications: [Notification] = [], sequences: [Int64] = [], effects: [CommitEffect] = []
    ) {
        self.body = body
        self.notifications = notifications
        self.sequences = sequences
        self.effects = effects
    }
}

/// The reply to a command comes later: it is that to another command, which resolves the token.
package struct DeferredResult: Equatable, Sendable {
    /// Several commands may wait for the same token.
    package let token: String
    /// What follows from the commit, and lets somebody resolve the token.
    package internal(set) var effects: [CommitEffect] = []
    /// The result if nobody has yet deferred a reply until the token is resolved; nil: the command waits in any case.
    package internal(set) var otherwise: CommandResult?
}
