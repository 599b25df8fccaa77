import Glibc

/// Makes threads wait at the end of their preparation until another thread lets all of them run.
package final class StartBarrier: @unchecked Sendable {  // semaphores may be shared between threads
    private let arrived = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    private let opened = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    private let count: Int

    /// - Parameter count: the number of threads that will call ``arriveAndWait()``.
    package init(_ count: Int) {
        self.count = count
        sem_init(arrived, 0, 0)
        sem_init(opened, 0, 0)
    }

    deinit {
        for semaphore in [arrived, opened] {
            sem_destroy(semaphore)
            semaphore.deallocate()
        }
    }

    /// Reports that the calling thread is ready, then blocks until ``open()``.
    package func arriveAndWait() {
        sem_post(arrived)
        Self.wait(opened)
    }

    /// Blocks until one more thread has called ``arriveAndWait()``. Call this once per thread.
    package func waitForArrival() { Self.wait(arrived) }

    /// Unblocks all threads, including those that arrive later.
    package func open() {
        for _ in 0..<count { sem_post(opened) }
    }

    private static func wait(_ semaphore: UnsafeMutablePointer<sem_t>) {
        while sem_wait(semaphore) != 0 {}  // EINTR is its only error
    }
}
