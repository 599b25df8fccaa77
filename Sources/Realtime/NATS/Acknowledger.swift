import CNats
import Primitives
import Synchronization
import Threads

/// Waits for the server's acknowledgements, on a thread of its own: cnats has only a blocking call for them.
///
/// Everything written to NATS is handled in order, so the PONG that answers a PING acknowledges what was written before.
/// One PING a second shows whether the server is alive: after two that were not answered within a second each, the
/// connection is declared lost, 3 s after the server froze at the latest.
final class Acknowledger: Sendable {
    private struct Work {
        var session: NATSSession?
        /// Subscriptions that were written, but are not granted.
        var tokens: [UInt64] = []
        var isFlushWanted = false
        var isEnded = false
    }

    private static let missesMax = 2

    private let work = Monitor(Work())
    private let inbox: Inbox
    /// Whether the flush that ``requestFlush()`` wants has succeeded.
    let isFlushed = Atomic(false)

    init(inbox: Inbox) { self.inbox = inbox }

    // MARK: Of the connection's thread

    /// Watches a session from now on.
    func begin(_ session: NATSSession) {
        work.withLock { $0.session = session }
        work.signal()
    }

    /// Asks for a grant of subscriptions, after these were buffered.
    func request(_ tokens: [UInt64]) {
        work.withLock { $0.tokens += tokens }
        work.signal()
    }

    /// Asks for a flush of everything buffered.
    func requestFlush() {
        work.withLock { $0.isFlushWanted = true }
        work.signal()
    }

    /// Watches nothing from now on. Nothing is granted afterwards.
    func forget() {
        work.withLock { $0 = Work(isEnded: $0.isEnded) }
        work.signal()
    }

    /// Ends the thread.
    func end() {
        work.withLock { $0 = Work(isEnded: true) }
        work.signal()
    }

    // MARK: Of the own thread

    func run() {
        var misses = 0
        var watched: ObjectIdentifier?
        while true {
            let task = nextTask(at: misses > 0 ? 0 : Timing.busFlushInterval)
            if task.isEnded { return }
            guard let session = task.session else { continue }
            if watched != ObjectIdentifier(session) {
                watched = ObjectIdentifier(session)
                misses = 0
            }
            switch session.flush(milliseconds: Timing.busFlushInterval) {
            case NATS_OK:
                misses = 0
                finish(task, of: session)
            case NATS_TIMEOUT:
                repeatLater(task, of: session)
                // Nobody has read the answer, perhaps.
                if session.isReporting.load(ordering: .relaxed) { continue }
                misses += 1
                if misses == Self.missesMax {
                    session.lose("the server does not answer")
                    stopWatching(session)
                }
            default: stopWatching(session)
            }
        }
    }

    private func nextTask(at milliseconds: Int64) -> Work {
        let isReady = { (work: Work) in work.isEnded || (work.session != nil && (!work.tokens.isEmpty || work.isFlushWanted)) }
        // Without a session there is nothing to do but to wait for one.
        let isIdle = work.withLock { $0.session == nil }
        return work.wait(
            milliseconds: isIdle ? nil : milliseconds, until: { isReady($0) || (isIdle && $0.session != nil) },
            then: { work in
                let task = work
                work.tokens = []
                work.isFlushWanted = false
                return task
            })
    }

    private func finish(_ task: Work, of session: NATSSession) {
        work.withLock { work in
            guard work.session === session else { return }
            if !task.tokens.isEmpty { inbox.append(.granted(task.tokens)) }
            if task.isFlushWanted {
                isFlushed.store(true, ordering: .releasing)
                inbox.wake()
            }
        }
    }

    private func repeatLater(_ task: Work, of session: NATSSession) {
        work.withLock { work in
            guard work.session === session else { return }
            work.tokens = task.tokens + work.tokens
            work.isFlushWanted = work.isFlushWanted || task.isFlushWanted
        }
    }

    private func stopWatching(_ session: NATSSession) {
        work.withLock { work in
            if work.session === session { work.session = nil }
        }
    }
}
