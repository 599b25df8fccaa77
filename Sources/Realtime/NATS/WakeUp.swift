import CNats
import Glibc

/// Wakes a thread that sleeps in `poll`.
final class WakeUp: Sendable {
    /// Readable after ``signal()``, until ``reset()``.
    let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(descriptor >= 0, "eventfd: \(String(cString: strerror(errno)))")
    }

    deinit { close(descriptor) }

    func signal() {
        var one: UInt64 = 1
        // It fails only if the counter is at its end: then the thread is about to wake in any case.
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    func reset() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}
