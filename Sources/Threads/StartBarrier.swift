import Glibc

/// Lets threads get ready one by one, and go together.
package final class StartBarrier: @unchecked Sendable {  // both semaphores are made for being shared
    private let arrived = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    private let opened = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    private let count: Int

    /// - Parameter count: how many threads will pass.
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

    /// A thread says it is ready, and waits until the gate opens.
    package func arriveAndWait() {
        sem_post(arrived)
        Self.wait(opened)
    }

    /// Waits until one more thread has arrived.
    package func waitForArrival() { Self.wait(arrived) }

    /// Lets everybody pass.
    package func open() {
        for _ in 0..<count { sem_post(opened) }
    }

    private static func wait(_ semaphore: UnsafeMutablePointer<sem_t>) {
        while sem_wait(semaphore) != 0 {}  // only a signal handler interrupts it
    }
}
