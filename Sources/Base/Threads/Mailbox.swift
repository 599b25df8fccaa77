import Synchronization

/// A queue of messages to the thread that owns some state, with a high-water mark. Other threads access that state only
/// by sending messages.
///
/// The queue itself is unbounded. Senders of messages that may be rejected (publishes) check ``hasRoom`` first;
/// messages that must not be lost (joins, leaves, closes) are always appended. The owner receives all messages in the
/// order in which they were appended.
///
/// The owner is woken once per batch, by whichever sender is done first: a sender may append several messages before it
/// wakes the owner, and then it need not if another one has. So a sender that is slow to wake the owner holds back its own
/// messages, and no others.
///
/// Inlinable, as ``Lock`` is: otherwise callers in other modules use the unspecialised code, which is several times slower.
/// The members of a type with package access are inlined only if the type itself is `@usableFromInline`.
@usableFromInline package final class Mailbox<Message: Sendable>: Sendable {
    @usableFromInline let pending = Lock<[Message]>([])
    @usableFromInline let count = Atomic<Int>(0)
    /// Whether the owner was woken since it last drained the mailbox. Set to false under the lock only: a sender that reads true
    /// there knows that the owner drains once more.
    @usableFromInline let isWoken = Atomic<Bool>(false)
    @usableFromInline let highWater: Int

    /// - Parameter highWater: ``hasRoom`` is false while at least this number of messages is queued.
    package init(highWater: Int) { self.highWater = highWater }

    /// The number of queued messages. Other threads may change it at any time.
    @inlinable package var depth: Int { count.load(ordering: .relaxed) }

    /// Whether fewer messages than the high-water mark are queued. If not, the sender must reject a message that may be
    /// rejected.
    @inlinable package var hasRoom: Bool { depth < highWater }

    /// Appends a message.
    /// - Returns: whether the sender owes a wake-up, see ``takeWakeUp()``. False: the owner was woken, and will drain.
    @inlinable package func append(_ message: Message) -> Bool {
        pending.withLock { queue in
            queue.append(message)
            count.store(queue.count, ordering: .relaxed)
            return !isWoken.load(ordering: .relaxed)
        }
    }

    /// Pays a wake-up that is owed. Call it soon after ``append(_:)`` has returned true.
    /// - Returns: whether the caller must wake the owner now; false if another sender has.
    @inlinable package func takeWakeUp() -> Bool { !isWoken.exchange(true, ordering: .relaxed) }

    /// Moves all messages into `batch` under one lock. The previous contents of `batch` are removed; its storage is
    /// kept for the next messages.
    @inlinable package func drain(into batch: inout [Message]) {
        batch.removeAll(keepingCapacity: true)
        guard depth > 0 || isWoken.load(ordering: .relaxed) else { return }
        pending.withLock { queue in
            swap(&queue, &batch)
            count.store(0, ordering: .relaxed)
            isWoken.store(false, ordering: .relaxed)
        }
    }
}
