import CCurl
import Glibc

extension HTTPPool {
    /// Ends ``wait(milliseconds:)`` from any thread, as long as the pool lives and after.
    ///
    /// Its descriptor is its own, not libcurl's (`curl_multi_wakeup` needs a multi handle, and those come and go).
    package final class Waker: Sendable {
        let descriptor: Int32

        init() {
            descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
            precondition(descriptor >= 0, "eventfd: error \(errno)")
        }

        deinit { close(descriptor) }

        /// Ends the wait that is going on, or else the next one. Several calls before a wait are one.
        package func wake() { eventfd_write(descriptor, 1) }

        /// The wait is over: wakes from now on are for the next one.
        func reset() {
            var count: eventfd_t = 0
            eventfd_read(descriptor, &count)
        }
    }
}
