import PusherProtocol
import Synchronization
import Threads

/// The only way to the worker: what backends are to be told, in the order in which it was decided.
///
/// It never waits. A full one refuses what comes, which is counted; the worker says so in the log.
package final class WebhookInbox: Sendable {
    /// Notices that may wait for the worker, who only has to put them in the queues of their endpoints: a second's worth of
    /// a busy node. Beyond, the newest is refused.
    package static let capacity = 16_384

    private let mailbox = Mailbox<AppWebhookEvent>(highWater: WebhookInbox.capacity)
    private let refused = Atomic<Int>(0)
    private let wakeReader = Lock<(@Sendable () -> Void)?>(nil)

    package init() {}

    /// Of those that carry clients' data, which may be 64 KB each, fewer may wait.
    private static let heavyCapacity = 1_024

    /// Appends, from any thread; true when the box was empty, so that somebody has to ``wake()`` its reader.
    package func append(_ notice: AppWebhookEvent) -> Bool {
        guard mailbox.hasRoom, !notice.isHeavy || mailbox.depth < Self.heavyCapacity else {
            refused.wrappingAdd(1, ordering: .relaxed)
            return false
        }
        return mailbox.append(notice)
    }

    /// Wakes the reader, if there is one.
    package func wake() {
        let wakeReader = wakeReader.withLock { $0 }
        wakeReader?()
    }

    /// Notices that were refused because the box was full.
    package var refusals: Int { refused.load(ordering: .relaxed) }

    /// Notices that wait.
    package var depth: Int { mailbox.depth }

    /// Takes everything there is; `batch` is emptied first.
    package func drain(into batch: inout [AppWebhookEvent]) { mailbox.drain(into: &batch) }

    /// Says how its reader is woken.
    func connect(_ wakeReader: @escaping @Sendable () -> Void) { self.wakeReader.withLock { $0 = wakeReader } }
}

extension AppWebhookEvent {
    fileprivate var isHeavy: Bool {
        if case .clientEvent = event { true } else { false }
    }
}
