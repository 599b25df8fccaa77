import Synchronization

/// The only way into a thread that owns state: a queue of messages with a high-water mark.
///
/// The queue itself is unbounded. Senders of messages that may be rejected (publishes) check ``hasRoom`` first;
/// messages that must not be lost (joins, leaves, closes) are always appended. Both kinds share one order. The sender
/// wakes the owner, once per batch.
package final class Mailbox<Message: Sendable>: Sendable {
    private let pending = Lock<[Message]>([])
    private let count = Atomic<Int>(0)
    private let highWater: Int

    /// - Parameter highWater: the number of messages from which ``hasRoom`` is false.
    package init(highWater: Int) { self.highWater = highWater }

    /// The number of queued messages. Other threads may change it at any time.
    package var depth: Int { count.load(ordering: .relaxed) }

    /// Whether messages that may be rejected can be appended.
    package var hasRoom: Bool { depth < highWater }

    /// Appends a message.
    /// - Returns: whether the mailbox was empty; then the sender must wake the owner.
    package func append(_ message: Message) -> Bool {
        pending.withLock { queue in
            queue.append(message)
            count.store(queue.count, ordering: .relaxed)
            return queue.count == 1
        }
    }

    /// Moves all messages into `batch` under one lock. The storage of `batch` is kept for the next messages.
    package func drain(into batch: inout [Message]) {
        batch.removeAll(keepingCapacity: true)
        guard depth > 0 else { return }
        pending.withLock { queue in
            swap(&queue, &batch)
            count.store(0, ordering: .relaxed)
        }
    }
}
