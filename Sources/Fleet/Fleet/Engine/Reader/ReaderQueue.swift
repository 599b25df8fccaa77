import Threads

/// The readers' queue. Any thread posts; the readers sleep in ``take(into:most:waiting:)`` while it is empty.
final class ReaderQueue: Sendable {
    private struct Contents {
        var backlog: ReaderBacklog
        var isClosed = false
    }

    private let contents: Monitor<Contents>

    init(_ backlog: ReaderBacklog) { contents = Monitor(Contents(backlog: backlog)) }

    /// The number of waiting requests. Other threads may change it at any time.
    var depth: Int { contents.withLock { $0.backlog.count } }

    var waits: WaitTimes { contents.withLock { $0.backlog.waits } }

    func post(_ request: ReaderRequest) -> PostResult {
        let now = Clock.monotonicMilliseconds()
        return contents.withLock { contents in
            // A list that was begun is finished.
            guard !contents.isClosed || request.isBegun else { return .queueFull }
            let result = contents.backlog.append(request, at: now)
            // Only the first item needs a signal: who takes it wakes the next reader if there are more.
            if contents.backlog.count == 1 { self.contents.signal() }
            return result
        }
    }

    /// Makes ``post(_:)`` fail from now on. Requests already queued can still be taken.
    func close() {
        contents.withLock { $0.isClosed = true }
        contents.signal()
    }

    /// Waits until requests are queued, then moves the next ones into `batch`.
    /// - Parameters:
    ///   - batch: its previous contents are removed.
    ///   - limit: the most requests.
    ///   - milliseconds: the timeout; nil waits until there are requests, or the queue is closed.
    func take(into batch: inout [ReaderRequest], most limit: Int, waiting milliseconds: Int64?) -> TakeResult {
        batch.removeAll(keepingCapacity: true)
        return contents.wait(
            milliseconds: milliseconds, until: { $0.backlog.count > 0 || $0.isClosed },
            then: { contents in
                // The next reader, if one sleeps, takes what is left, or learns that the queue is closed.
                defer { if contents.backlog.count > 0 || contents.isClosed { self.contents.signal() } }
                guard contents.backlog.count > 0 else { return contents.isClosed ? .closed : .timedOut }
                contents.backlog.take(into: &batch, most: limit, at: Clock.monotonicMilliseconds())
                return .items
            })
    }
}
