import Glibc

/// A value that only one thread at a time can access, as in a ``Lock``, and for whose changes a thread can sleep.
package final class Monitor<Value>: @unchecked Sendable {  // the mutex serialises every access to `value`
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var value: Value

    /// - Parameter value: the initial value.
    package init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        changed = .allocate(capacity: 1)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // By default a condition variable uses the wall clock, which may be set while a thread waits.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        let results = (pthread_mutex_init(mutex, nil), pthread_cond_init(changed, &attributes))
        precondition(results == (0, 0), "pthread_mutex_init, pthread_cond_init: errors \(results)")
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Calls `body` with the value while holding the mutex. `body` must not use the same monitor, except ``signal()``.
    package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }

    /// Wakes a thread that sleeps in ``wait(milliseconds:until:then:)``, if there is one.
    package func signal() { pthread_cond_signal(changed) }

    /// Wakes all threads that sleep in ``wait(milliseconds:until:then:)``: use it if they wait for different things.
    package func signalAll() { pthread_cond_broadcast(changed) }

    /// Sleeps until `isReady` returns true for the value, then calls `body`, both while holding the mutex.
    /// - Parameter milliseconds: the longest time to sleep; after it, `body` is called, too. Nil: without limit.
    package func wait<Result>(
        milliseconds: Int64?, until isReady: (Value) -> Bool, then body: (inout Value) -> Result
    ) -> Result {
        withLock { value in
            let deadline = milliseconds.map { Self.deadline(after: $0) }
            var isOver = false
            while !isReady(value), !isOver {
                if var deadline {
                    isOver = pthread_cond_timedwait(changed, mutex, &deadline) == ETIMEDOUT
                } else {
                    pthread_cond_wait(changed, mutex)  // may wake up spuriously, hence the loop
                }
            }
            return body(&value)
        }
    }

    private static func deadline(after milliseconds: Int64) -> timespec {
        let nanoseconds = Clock.monotonicNanoseconds() + UInt64(max(0, milliseconds)) * 1_000_000
        return timespec(tv_sec: time_t(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
