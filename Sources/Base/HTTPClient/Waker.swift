import CCurl
import Glibc

extension HTTPPool {
    /// Ends ``wait(milliseconds:)`` from any thread. May outlive the pool.
    ///
    /// It uses an eventfd, not `curl_multi_wakeup`, which needs a multi handle: the pool replaces its multi handle.
    package final class Waker: Sendable {
        let descriptor: Int32

        init() {
            descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
            precondition(descriptor >= 0, "eventfd: error \(errno)")
        }

        deinit { close(descriptor) }

        /// Ends the current wait or, if the pool is not waiting, the next one. Several calls before a wait count as
        /// one.
        package func wake() { eventfd_write(descriptor, 1) }

        /// Clears earlier calls of ``wake()``; called after each wait.
        func reset() {
            var count: eventfd_t = 0
            eventfd_read(descriptor, &count)
        }
    }
}
