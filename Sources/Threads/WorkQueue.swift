import Glibc

/// A bounded queue for one worker thread, which sleeps in ``take(into:most:waiting:)`` while the queue is empty. (An
/// event loop sleeps in epoll instead, so it has a ``Mailbox``.)
package final class WorkQueue<Item: Sendable>: @unchecked Sendable {  // the mutex serialises every access to the items
    /// How a call of ``take(into:most:waiting:)`` ended.
    package enum TakeResult: Equatable, Sendable {
        /// The batch has at least one item.
        case items
        /// The wait timed out.
        case timedOut
        /// The queue is closed and empty.
        case closed
    }

    private let capacity: Int
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// Signalled when the first item is queued, and when the queue is closed.
    private let filled: UnsafeMutablePointer<pthread_cond_t>
    private var items: [Item] = []
    /// Index of the first queued item. The items before it were taken and are removed later: removing each batch
    /// immediately would move all remaining items each time.
    private var head = 0
    private var isClosed = false

    /// - Parameter capacity: the largest number of queued items; with that many queued, ``post(_:)`` returns false.
    package init(capacity: Int) {
        self.capacity = capacity
        mutex = .allocate(capacity: 1)
        filled = .allocate(capacity: 1)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // By default a condition variable uses the wall clock, which may be set while a thread waits.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        let results = (pthread_mutex_init(mutex, nil), pthread_cond_init(filled, &attributes))
        precondition(results == (0, 0), "pthread_mutex_init, pthread_cond_init: errors \(results)")
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(filled)
        pthread_mutex_destroy(mutex)
        filled.deallocate()
        mutex.deallocate()
    }

    /// The number of queued items. Other threads may change it at any time.
    package var depth: Int { locked { items.count - head } }

    /// Appends an item and wakes the worker.
    /// - Returns: false if the queue is full or closed; the item is then not appended.
    package func post(_ item: Item) -> Bool {
        locked {
            guard !isClosed, items.count - head < capacity else { return false }
            items.append(item)
            // Only the first item needs a signal: the single worker sleeps only while the queue is empty.
            if items.count - head == 1 { pthread_cond_signal(filled) }
            return true
        }
    }

    /// Makes ``post(_:)`` fail from now on. Items already queued can still be taken.
    package func close() {
        locked {
            isClosed = true
            pthread_cond_signal(filled)
        }
    }

    /// Waits until the queue has items, then moves them into `batch`, oldest first.
    /// - Parameters:
    ///   - batch: its previous contents are removed.
    ///   - limit: the largest number of items to move.
    ///   - milliseconds: the timeout; nil waits until items arrive or the queue is closed.
    package func take(into batch: inout [Item], most limit: Int, waiting milliseconds: Int64? = nil) -> TakeResult {
        batch.removeAll(keepingCapacity: true)
        return locked {
            waitForItems(milliseconds)
            guard items.count > head else { return isClosed ? .closed : .timedOut }
            let end = min(items.count, head + limit)
            batch.append(contentsOf: items[head..<end])
            head = end
            if head == items.count || head >= capacity {
                items.removeSubrange(..<head)
                head = 0
            }
            return .items
        }
    }

    private func waitForItems(_ milliseconds: Int64?) {
        let deadline = milliseconds.map { Self.deadline(after: $0) }
        while items.count == head, !isClosed {
            if var deadline {
                if pthread_cond_timedwait(filled, mutex, &deadline) == ETIMEDOUT { return }
            } else {
                pthread_cond_wait(filled, mutex)  // may wake up spuriously, hence the loop
            }
        }
    }

    private static func deadline(after milliseconds: Int64) -> timespec {
        let nanoseconds = Clock.monotonicNanoseconds() + UInt64(max(0, milliseconds)) * 1_000_000
        return timespec(tv_sec: time_t(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}
