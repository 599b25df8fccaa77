import Synchronization

/// The only way into a thread that owns state: a queue with a high-water mark.
///
/// Two kinds of mail share it in one order. What may be refused asks ``hasRoom`` first; what must not be lost (joins,
/// leaves, closes) is always taken. Waking the owner is the sender's business, once per batch.
package final class Mailbox<Message: Sendable>: Sendable {
    private let pending = Lock<[Message]>([])
    private let count = Atomic<Int>(0)
    private let highWater: Int

    /// - Parameter highWater: messages beyond which ``hasRoom`` says no.
    package init(highWater: Int) { self.highWater = highWater }

    /// Messages waiting; another thread may change it at any time.
    package var depth: Int { count.load(ordering: .relaxed) }

    /// Whether refusable mail may be appended.
    package var hasRoom: Bool { depth < highWater }

    /// Appends; true when the mailbox was empty, so that its owner has to be woken.
    package func append(_ message: Message) -> Bool {
        pending.withLock { queue in
            queue.append(message)
            count.store(queue.count, ordering: .relaxed)
            return queue.count == 1
        }
    }

    /// Takes everything in one lock, leaving `batch`'s old storage (emptied) behind for the next messages.
    package func drain(into batch: inout [Message]) {
        batch.removeAll(keepingCapacity: true)
        guard depth > 0 else { return }
        pending.withLock { queue in
            swap(&queue, &batch)
            count.store(0, ordering: .relaxed)
        }
    }
}
