import CCurl
import Glibc

extension HTTPPool {
    /// Ends ``wait(milliseconds:)`` from any thread. May outlive the pool.
    ///
    /// An eventfd, not `curl_multi_wakeup`: that needs a multi handle, and the pool replaces its own.
    package final class Waker: Sendable {
        let descriptor: Int32

        init() {
            descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
            precondition(descriptor >= 0, "eventfd: error \(errno)")
        }

        deinit { close(descriptor) }

        /// Ends the present wait, or else the next. Several calls before a wait count as one.
        package func wake() { eventfd_write(descriptor, 1) }

        /// Resets after a wait.
        func reset() {
            var count: eventfd_t = 0
            eventfd_read(descriptor, &count)
        }
    }
}
