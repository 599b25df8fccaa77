import FleetRules

/// Whose answer it is: the loop, and the exchange there.
package struct ReplyAddress: Equatable, Sendable {
    package let loop: Int
    package let request: Int

    package init(loop: Int, exchange: Int) {
        self.loop = loop
        self.request = exchange
    }
}

/// A command on its way to the writer.
package struct CommandRequest: Equatable, Sendable {
    package let command: Command
    package let sender: ReplyAddress

    package init(_ command: Command, sender: ReplyAddress) {
        self.command = command
        self.sender = sender
    }
}

/// An errand, and what became of it.
package struct CommandReply: Equatable, Sendable {
    /// Whether it was decided, and if not, whether it is worth trying again.
    package enum Outcome: Equatable, Sendable {
        /// Committed, or refused.
        case settled(CommandResult)
        /// 503: nothing was written; the same errand may succeed later.
        case unavailable(String)
        /// 500: nothing was written; the same errand would fail again.
        case failed(String)
    }

    package let request: CommandRequest
    package let outcome: Outcome
}

/// An enquiry on its way to the reader.
package struct QueryRequest: Equatable, Sendable {
    package let query: Query
    package let sender: ReplyAddress

    package init(_ enquiry: Query, sender: ReplyAddress) {
        self.query = enquiry
        self.sender = sender
    }
}

/// An enquiry's answer.
package struct QueryReply: Equatable, Sendable {
    /// What there is to say.
    package enum Outcome: Equatable, Sendable {
        /// The body.
        case found([UInt8])
        case refused(RuleError)
        /// 503.
        case unavailable(String)
    }

    package let request: QueryRequest
    package let outcome: Outcome
}

/// What an operator should know of the store.
package enum StoreEvent: Equatable, Sendable {
    /// Errands are answered 503 from now on. Said once, however many there are.
    case unavailable(DatabaseError)
    /// They are taken again.
    case recovered(refused: Int)
    /// One errand failed alone.
    case failed(DatabaseError, correlationID: String)
    /// Something that is done between errands: one of the ``BackgroundTask``s, or `retention` of old rows. Tried again every few
    /// seconds, and said once until it works.
    case backgroundTaskFailed(DatabaseError, kind: String)
    /// Everything is stored, but the log could not be moved into the file at the end; the next start does it.
    case checkpointFailed(DatabaseError)
    /// A row holds what this program cannot have written: `preferences of driver:42`. It counts as not there. Said once for
    /// each kind of row.
    case unreadable(String)
}
