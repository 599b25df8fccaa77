import Access
import Threads

/// Where a reply goes: to a waiting HTTP request on an event loop.
package struct ReplyAddress: Equatable, Sendable {
    /// The index of the event loop.
    package let loop: Int
    /// The id of the HTTP request within the loop.
    package let request: Int

    package init(loop: Int, request: Int) {
        self.loop = loop
        self.request = request
    }
}

/// A command for the writer.
package struct CommandRequest: Equatable, Sendable {
    package let issued: IssuedCommand
    /// Nil for what the gateway does itself.
    package let replyTo: ReplyAddress?
    /// Milliseconds on the monotonic clock.
    private let postedAt: Int64

    /// Seconds after which a client that still waits gets 503. The writer does not execute the command then: in an outage
    /// the dispatcher may have decided otherwise meanwhile.
    package static let secondsMax = 10

    package init(_ issued: IssuedCommand, replyTo: ReplyAddress?, postedAt: Int64 = Clock.monotonicMilliseconds()) {
        self.issued = issued
        self.replyTo = replyTo
        self.postedAt = postedAt
    }

    /// - Parameter now: milliseconds on the monotonic clock.
    func isExpired(at now: Int64) -> Bool { replyTo != nil && now - postedAt > Int64(Self.secondsMax) * 1_000 }
}

/// The reply to a command. Built in the transaction, published after its commit.
package enum CommandReply: Equatable, Sendable {
    /// 200: the command was executed.
    case committed(CommandResult)
    /// The command was executed. Its reply is that to a later command.
    case deferred(DeferredResult)
    /// The stored response to the first request with this idempotency key, which the command repeats. Nothing was
    /// written.
    case replayed(status: Int, body: [UInt8])
    /// 400, 403, 404 or 409: a rule forbids the command. Nothing was written.
    case rejected(RuleError)
    /// 503: nothing was written; a retry may succeed.
    case unavailable(String)
    /// 500: nothing was written; a retry would fail again.
    case failed(String)
}

/// A subscription of a device to one of its owner's durable channels.
package struct CursorRequest: Equatable, Sendable {
    package let key: ReceiptKey
    package let replyTo: ReplyAddress

    package init(key: ReceiptKey, replyTo: ReplyAddress) {
        self.key = key
        self.replyTo = replyTo
    }
}

/// The reply to a subscription.
package struct CursorReply: Equatable, Sendable {
    package let request: CursorRequest
    /// The device's cursor, which is stored: its replay begins behind this sequence number.
    package let cursor: Int64
    /// The channel's last sequence number when the subscription was executed; 0 if it has none.
    package let last: Int64

    package init(request: CursorRequest, cursor: Int64, last: Int64) {
        self.request = request
        self.cursor = cursor
        self.last = last
    }
}

/// A query for the reader.
package struct QueryRequest: Equatable, Sendable {
    package let query: Query
    /// Who asks; nil: the gateway itself.
    package let subject: Sender?
    package let replyTo: ReplyAddress
    /// Milliseconds on the monotonic clock.
    private let postedAt: Int64

    package init(
        _ query: Query, by subject: Sender? = nil, replyTo: ReplyAddress, postedAt: Int64 = Clock.monotonicMilliseconds()
    ) {
        self.query = query
        self.subject = subject
        self.replyTo = replyTo
        self.postedAt = postedAt
    }

    /// ``Sender/key`` of the subject; empty if there is none.
    var subjectKey: String { subject?.key ?? "" }

    /// Whether the client has got 503 already (``CommandRequest/secondsMax``).
    /// - Parameter now: milliseconds on the monotonic clock.
    func isExpired(at now: Int64) -> Bool { now - postedAt > Int64(CommandRequest.secondsMax) * 1_000 }
}

/// The result of a query.
package enum QueryReply: Equatable, Sendable {
    /// 200, with the response's JSON.
    case found([UInt8])
    /// 400 or 404.
    case rejected(RuleError)
    /// 503.
    case unavailable(String)
    /// The answer needs a write: the sender's request is a command.
    case mustWrite
}

extension StoreWriter.Request {
    /// Whether a client has got 503 already.
    /// - Parameter now: milliseconds on the monotonic clock.
    func isExpired(at now: Int64) -> Bool {
        if case .command(let request) = self { request.isExpired(at: now) } else { false }
    }

    var isSubscription: Bool { if case .subscription = self { true } else { false } }
}
