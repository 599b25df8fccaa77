import Synchronization

/// Counts the signs of progress of one thread, for a watchdog on another thread.
package final class Heartbeat: Sendable {
    /// The watched thread's name, for the log.
    package let name: String
    /// The number of beats; negative after the end.
    private let count = Atomic<Int>(0)

    /// - Parameter name: the watched thread's name.
    package init(_ name: String) { self.name = name }

    /// Records a sign of progress. The watched thread calls it at least once a second, also while it has nothing to do.
    package func beat() { count.wrappingAdd(1, ordering: .relaxed) }

    /// Ends the watch, because the thread is about to end. No beat must follow.
    package func end() { count.store(-1, ordering: .relaxed) }

    /// The number of beats so far; nil after ``end()``. A watchdog sees progress if it differs from the last number seen.
    package var beats: Int? {
        let count = count.load(ordering: .relaxed)
        return count < 0 ? nil : count
    }
}
