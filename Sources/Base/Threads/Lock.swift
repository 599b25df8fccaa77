import Glibc

/// A value that only one thread at a time can access.
///
/// The value must not be a function, nor an optional one: put it into a struct. A function in a generic type is called through
/// a function that converts its arguments, and each access by `inout` adds two more, so that calls become slower without end
/// (Swift 6.3; `make lint` finds such locks).
///
/// It uses a pthread mutex, not `Synchronization.Mutex`, because ThreadSanitizer reports false races for the latter
/// (Swift 6.3), and it is no faster.
@usableFromInline package final class Lock<Value>: @unchecked Sendable {  // the mutex serialises every access to `value`
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline var value: Value

    /// - Parameter value: the initial value.
    package init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        let result = pthread_mutex_init(mutex, nil)
        precondition(result == 0, "pthread_mutex_init: error \(result)")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Calls `body` with the value while holding the mutex. `body` must not call `withLock` of the same lock: the mutex
    /// is not recursive.
    @inlinable package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
