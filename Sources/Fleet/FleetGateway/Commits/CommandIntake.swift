import Fleet
import Threads

/// Counts the commands between their acceptance and their replies. A drain stops accepting commands, then waits until all
/// have their replies: their events are then in the mailboxes, before the request to drain the loops.
final class CommandIntake: Sendable {
    private struct State {
        var isOpen = true
        var openCount = 0
    }

    private let state = Lock(State())
    /// Gets an item when the intake is closed and all commands have their replies.
    private let finished = WorkQueue<Void>(capacity: 1)

    /// Accepts a command.
    /// - Parameter enqueue: queues it for the store.
    /// - Returns: the result of `enqueue`; nil if the gateway drains and accepts no more commands.
    func post(_ enqueue: () -> PostResult) -> PostResult? {
        state.withLock { state in
            guard state.isOpen else { return nil }
            let result = enqueue()
            if result == .queued { state.openCount += 1 }
            return result
        }
    }

    /// Records that commands have got their replies.
    func replied(_ count: Int) {
        let isFinished = state.withLock { state in
            state.openCount -= count
            return !state.isOpen && state.openCount == 0
        }
        if isFinished { _ = finished.post(()) }
    }

    /// Accepts no more commands, and waits until all that were accepted have their replies, or until ``abort()``.
    /// - Parameter seconds: the longest time to wait.
    /// - Returns: whether all have their replies.
    func close(waiting seconds: Int) -> Bool {
        let isFinished = state.withLock { state in
            state.isOpen = false
            return state.openCount == 0
        }
        if isFinished { return true }
        var items: [Void] = []
        _ = finished.take(into: &items, most: 1, waiting: Int64(seconds) * 1_000)
        return state.withLock { $0.openCount == 0 }
    }

    /// Ends ``close(waiting:)`` at once.
    func abort() { _ = finished.post(()) }
}
