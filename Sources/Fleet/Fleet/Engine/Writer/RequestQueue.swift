import Access
import Primitives
import Threads

/// Whether ``StoreWriter/post(_:)-(CommandRequest)`` has queued a command.
package enum PostResult: Equatable, Sendable {
    case queued
    /// Too many commands wait, or the writer is stopped. The sender gets 503.
    case queueFull
    /// Too many commands of this subject wait. The sender gets 429: the others are served.
    case subjectFull
}

/// The requests that wait for the writer, by priority. A value: ``RequestQueue`` shares it among threads.
struct RequestBacklog {
    typealias Request = StoreWriter.Request

    /// Places for reports of push lanes, beyond those for commands. Each lane has at most one report in the queue.
    private static let reportsMax = 64
    /// Places for what became of SMS, beyond those for commands: a sender of each of them waits for its answer.
    static let deliveriesMax = 512

    private let countMax: Int
    private let perSubjectMax: Int
    /// By priority.
    private var queues = RequestPriority.allCases.map { _ in FIFO<Request>() }
    /// The number of waiting commands by subject (``Identity/key``), without those that have none.
    private var waiting: [String: Int] = [:]
    private(set) var count = 0
    /// The number of receipts among the waiting requests: nobody waits for them.
    private var receiptsCount = 0

    /// Whether a client waits for one of the requests.
    var isAwaited: Bool { count > receiptsCount }

    /// - Parameters:
    ///   - countMax: the most commands that may wait.
    ///   - perSubjectMax: the most commands of one driver or customer that may wait.
    init(countMax: Int, perSubjectMax: Int) {
        self.countMax = countMax
        self.perSubjectMax = perSubjectMax
    }

    mutating func append(_ request: Request) -> PostResult {
        if let subject = subject(of: request), waiting[subject.key, default: 0] >= limit(for: subject.role) {
            return .subjectFull
        }
        guard count < countMax(for: request) else { return .queueFull }
        changeWaiting(by: 1, for: request)
        queues[request.priority.rawValue].append(request)
        count += 1
        if case .receipts = request { receiptsCount += 1 }
        return .queued
    }

    /// Appends the requests of the next transaction to `batch`: from each priority as many as its
    /// ``RequestPriority/rowsMax`` permits.
    /// - Parameter limit: the most requests of each priority.
    mutating func take(into batch: inout [Request], most limit: Int) {
        for priority in RequestPriority.allCases {
            var (number, rows) = (0, 0)
            while number < limit, let next = queues[priority.rawValue].first {
                rows += next.rows
                guard number == 0 || rows <= priority.rowsMax else { break }
                _ = queues[priority.rawValue].popFirst()
                changeWaiting(by: -1, for: next)
                if case .receipts = next { receiptsCount -= 1 }
                batch.append(next)
                number += 1
            }
            count -= number
        }
    }

    private func countMax(for request: Request) -> Int {
        switch request {
        case .command(let request) where request.issued.command.origin.isAwaited: countMax + Self.reportsMax + Self.deliveriesMax
        case .command, .receipts, .subscription: request.priority.countMax(of: countMax)
        case .report, .look: countMax + Self.reportsMax
        }
    }

    /// The most waiting commands of one subject. A backend may make all dispatchers' requests with one token, so an
    /// admin may have half of the queue.
    private func limit(for role: Role) -> Int {
        switch role {
        case .admin, .ops: max(perSubjectMax, countMax / 2)
        case .driver, .customer: perSubjectMax
        }
    }

    private mutating func changeWaiting(by change: Int, for request: Request) {
        guard let subject = subject(of: request)?.key else { return }
        let count = waiting[subject, default: 0] + change
        waiting[subject] = count == 0 ? nil : count
    }

    /// Whose limit a request counts towards. Nil also for the steps of trips that the gateway takes: their driver has not
    /// sent them, and a trip has at most one of each kind. Nil also for requests without a token: their
    /// addresses and phones have limits.
    private func subject(of request: Request) -> Identity? {
        guard case .command(let request) = request else { return nil }
        return request.issued.command.origin == .actor ? request.issued.sender.person : nil
    }
}

/// The writer's queue. Any thread posts; the writer's thread sleeps in ``take(into:most:waiting:)`` while it is empty.
///
/// Receipts wait a little for other requests: a transaction of their own costs a disk sync, for which the next command
/// would have to wait.
final class RequestQueue: Sendable {
    /// How long receipts wait at most, in milliseconds. A confirmation may be lost for a second.
    static let receiptsWait: Int64 = 50

    private struct Contents {
        var backlog: RequestBacklog
        var isClosed = false
    }

    private let contents: Monitor<Contents>
    private let receiptsWait: Int64

    /// - Parameter receiptsWait: in milliseconds.
    init(_ backlog: RequestBacklog, receiptsWait: Int64 = RequestQueue.receiptsWait) {
        contents = Monitor(Contents(backlog: backlog))
        self.receiptsWait = receiptsWait
    }

    /// The number of waiting requests. Other threads may change it at any time.
    var depth: Int { contents.withLock { $0.backlog.count } }

    func post(_ request: StoreWriter.Request) -> PostResult {
        contents.withLock { contents in
            guard !contents.isClosed else { return .queueFull }
            let wasAwaited = contents.backlog.isAwaited
            let result = contents.backlog.append(request)
            // Later requests need no signal: the writer sleeps only while there are none, or only receipts.
            if contents.backlog.count == 1 || !wasAwaited && contents.backlog.isAwaited { self.contents.signal() }
            return result
        }
    }

    var isClosed: Bool { contents.withLock { $0.isClosed } }

    /// Makes ``post(_:)`` fail from now on. Requests already queued can still be taken.
    func close() {
        contents.withLock { $0.isClosed = true }
        contents.signal()
    }

    /// Waits until requests are queued, then moves those of the next transaction into `batch`.
    /// - Parameters:
    ///   - batch: its previous contents are removed.
    ///   - limit: the most requests of each priority.
    ///   - milliseconds: the timeout.
    func take(into batch: inout [StoreWriter.Request], most limit: Int, waiting milliseconds: Int64) -> TakeResult {
        batch.removeAll(keepingCapacity: true)
        let hasReceiptsOnly = contents.wait(
            milliseconds: milliseconds, until: { $0.backlog.count > 0 || $0.isClosed },
            then: { $0.backlog.count > 0 && !$0.backlog.isAwaited })
        return contents.wait(
            milliseconds: hasReceiptsOnly && milliseconds > 0 ? receiptsWait : 0, until: { $0.backlog.isAwaited || $0.isClosed },
            then: { contents in
                guard contents.backlog.count > 0 else { return contents.isClosed ? .closed : .timedOut }
                contents.backlog.take(into: &batch, most: limit)
                return .items
            })
    }
}
