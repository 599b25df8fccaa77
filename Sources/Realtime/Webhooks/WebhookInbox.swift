import PusherProtocol
import Synchronization
import Threads

/// The queue of webhook events from all threads to the thread of ``WebhookWorker``, which reads it. Never blocks:
/// events beyond the limit are dropped and counted, and the worker logs the count.
package final class WebhookInbox: Sendable {
    /// The largest number of queued events: about as many as happen in a second on a busy node. Events do not stay
    /// long, because the worker only moves them to the endpoints' queues.
    package static let capacity = 16_384

    private let mailbox = Mailbox<AppWebhookEvent>(highWater: WebhookInbox.capacity)
    private let refused = Atomic<Int>(0)
    private let reader = Lock<Reader?>(nil)

    private struct Reader {
        let wake: @Sendable () -> Void
    }

    package init() {}

    /// With this number of queued events, further client events are dropped: as each may have 64 KB of data, a full
    /// inbox of them would take 1 GB.
    private static let clientEventCapacity = 1_024

    /// Queues an event, from any thread, or drops and counts it if the inbox is full.
    /// - Returns: whether the caller must ``wake()`` the reader. False: it was woken, and has not drained the inbox since.
    package func append(_ event: AppWebhookEvent) -> Bool {
        guard mailbox.hasRoom, !event.isClientEvent || mailbox.depth < Self.clientEventCapacity else {
            refused.wrappingAdd(1, ordering: .relaxed)
            return false
        }
        return mailbox.append(event)
    }

    /// Wakes the reader, if ``connect(wake:)`` was called.
    package func wake() {
        _ = mailbox.takeWakeUp()  // other senders need not wake it, too
        reader.withLock { $0 }?.wake()
    }

    /// The number of events dropped because the inbox was full.
    package var refusals: Int { refused.load(ordering: .relaxed) }

    /// The number of queued events.
    package var depth: Int { mailbox.depth }

    /// Moves all queued events into `batch`, replacing its contents.
    package func drain(into batch: inout [AppWebhookEvent]) { mailbox.drain(into: &batch) }

    /// Sets the function that wakes the reader.
    func connect(wake: @escaping @Sendable () -> Void) { reader.withLock { $0 = Reader(wake: wake) } }
}

extension AppWebhookEvent {
    fileprivate var isClientEvent: Bool {
        if case .clientEvent = event { true } else { false }
    }
}
