/// How the attempt to take items from a queue ended.
package enum TakeResult: Equatable, Sendable {
    /// The batch has at least one item.
    case items
    /// The wait timed out.
    case timedOut
    /// The queue is closed and empty.
    case closed
}

/// A bounded queue for worker threads, which sleep in ``take(into:most:waiting:)`` while the queue is empty. (An event
/// loop sleeps in epoll instead, so it has a ``Mailbox``.)
package final class WorkQueue<Item: Sendable>: Sendable {
    private struct Contents {
        var items: [Item] = []
        /// Index of the first queued item. The items before it were taken and are removed later: removing each batch
        /// immediately would move all remaining items each time.
        var head = 0
        var isClosed = false

        var count: Int { items.count - head }
    }

    private let capacity: Int
    private let contents = Monitor(Contents())

    /// - Parameter capacity: the largest number of queued items; with that many queued, ``post(_:)`` returns false.
    package init(capacity: Int) { self.capacity = capacity }

    /// The number of queued items. Other threads may change it at any time.
    package var depth: Int { contents.withLock { $0.count } }

    /// Whether ``close()`` was called.
    package var isClosed: Bool { contents.withLock { $0.isClosed } }

    /// Appends an item and wakes a worker.
    /// - Returns: false if the queue is full or closed; the item is then not appended.
    package func post(_ item: Item) -> Bool {
        contents.withLock { contents in
            guard !contents.isClosed, contents.count < capacity else { return false }
            contents.items.append(item)
            // Only the first item needs a signal: who takes it wakes the next worker if there are more.
            if contents.count == 1 { self.contents.signal() }
            return true
        }
    }

    /// Makes ``post(_:)`` fail from now on. Items already queued can still be taken.
    package func close() {
        contents.withLock { $0.isClosed = true }
        contents.signal()
    }

    /// Waits until the queue has items, then moves them into `batch`, oldest first.
    /// - Parameters:
    ///   - batch: its previous contents are removed.
    ///   - limit: the largest number of items to move.
    ///   - milliseconds: the timeout; nil waits until items arrive or the queue is closed.
    package func take(into batch: inout [Item], most limit: Int, waiting milliseconds: Int64? = nil) -> TakeResult {
        batch.removeAll(keepingCapacity: true)
        return contents.wait(
            milliseconds: milliseconds, until: { $0.count > 0 || $0.isClosed },
            then: { contents in
                // The next worker, if one sleeps, takes what is left, or learns that the queue is closed.
                defer { if contents.count > 0 || contents.isClosed { self.contents.signal() } }
                guard contents.count > 0 else { return contents.isClosed ? .closed : .timedOut }
                let end = min(contents.items.count, contents.head + limit)
                batch.append(contentsOf: contents.items[contents.head..<end])
                contents.head = end
                if contents.count == 0 || contents.head >= capacity {
                    contents.items.removeSubrange(..<contents.head)
                    contents.head = 0
                }
                return .items
            })
    }
}
