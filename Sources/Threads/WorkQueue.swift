import Glibc

/// A bounded queue for a thread that sleeps while there is nothing to do. (An event loop has a ``Mailbox``: it sleeps
/// elsewhere.)
package final class WorkQueue<Item: Sendable>: @unchecked Sendable {  // the mutex serialises every access to the items
    /// What a wait came to.
    package enum TakeResult: Equatable, Sendable {
        case items
        /// Nothing came in the time given.
        case nothing
        /// It is closed, and everything posted before that has been taken.
        case closed
    }

    private let capacity: Int
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let filled: UnsafeMutablePointer<pthread_cond_t>
    private var items: [Item] = []
    /// Items before it have been taken: removing them one batch at a time would move the rest each time.
    private var head = 0
    private var isClosed = false

    /// - Parameter capacity: items that may wait; beyond it ``post(_:)`` says no.
    package init(capacity: Int) {
        self.capacity = capacity
        mutex = .allocate(capacity: 1)
        filled = .allocate(capacity: 1)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // By default a timed wait ends by the wall clock, which an operator may set.
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

    /// Items waiting; another thread may change it at any time.
    package var depth: Int { locked { items.count - head } }

    /// Appends and wakes the taker; false when full or closed: the sender decides what that means.
    package func post(_ item: Item) -> Bool {
        locked {
            guard !isClosed, items.count - head < capacity else { return false }
            items.append(item)
            // One taker: it can only be asleep when there was nothing.
            if items.count - head == 1 { pthread_cond_signal(filled) }
            return true
        }
    }

    /// Takes nothing more from now on; what was posted before can still be taken.
    package func close() {
        locked {
            isClosed = true
            pthread_cond_signal(filled)
        }
    }

    /// Sleeps until there is something, then takes what there is, oldest first.
    /// - Parameters:
    ///   - batch: emptied first.
    ///   - most: more than these stay for the next time.
    ///   - milliseconds: how long to wait; nil for as long as it takes.
    package func take(into batch: inout [Item], most: Int, waiting milliseconds: Int64? = nil) -> TakeResult {
        batch.removeAll(keepingCapacity: true)
        return locked {
            waitForItems(milliseconds)
            guard items.count > head else { return isClosed ? .closed : .nothing }
            let end = min(items.count, head + most)
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
                pthread_cond_wait(filled, mutex)  // may return for no reason, hence the loop
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
