import Access

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
    /// The order's new state; nil if no order changed.
    package let order: Order?
    /// The entry that the command added to the audit log; nil if it added none.
    package internal(set) var audit: AuditEntry?
    /// Whether the command repeated the one before it, and changed nothing.
    package internal(set) var isRepetition = false
    /// A driver's card: the one that the command changed, or that of the driver who reported progress. Nil: none.
    package internal(set) var card: DriverCard?
    /// The position in a driver's progress report; nil if it contains none.
    package internal(set) var position: DriverPosition?
    /// The change of a driver's account; nil if the command changed none.
    package internal(set) var account: AccountChange?
    /// What a command of sign-in by code causes.
    package internal(set) var codes = SignInCodeEffects()
    /// The person whose data the command has erased.
    package internal(set) var erased: Identity?
    /// The push lanes for which the command created push jobs.
    package internal(set) var lanes: Set<PushLane> = []
    /// Devices that their former owner lost: the command removed them, or another user registered them.
    package internal(set) var removed: [RemovedDevice] = []

    /// The response to a repetition of the request, which publishes nothing.
    package var forRepetition: CommandResult { CommandResult(body: repetitionBody ?? body) }

    init(body: [UInt8], notifications: [Notification] = [], sequences: [Int64] = [], order: Order? = nil) {
        self.body = body
        self.notifications = notifications
        self.sequences = sequences
        self.order = order
    }
}
