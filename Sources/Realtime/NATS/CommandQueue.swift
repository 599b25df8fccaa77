import Threads

/// The commands that wait for the connection's thread. Publishes are accepted only while the connection is up, and while those
/// that wait are less than a bound: what is posted at once is not divided, so it may exceed the bound once.
final class CommandQueue: Sendable {
    private struct Contents {
        var commands: [NATSConnection.Command] = []
        /// The bytes of the publishes in `commands`.
        var bytes = 0
        var isConnected = false
        var discarded = 0
        /// Monotonic milliseconds; nil while the queue is open.
        var closeDeadline: Int64?

        func acceptsPublishes(bytesMax: Int) -> Bool { isConnected && closeDeadline == nil && bytes < bytesMax }
    }

    private let contents = Lock(Contents())
    private let bytesMax: Int
    private let wakeUp: WakeUp

    init(bytesMax: Int, wakeUp: WakeUp) {
        self.bytesMax = bytesMax
        self.wakeUp = wakeUp
    }

    /// Whether publishes would be accepted.
    var acceptsPublishes: Bool { contents.withLock { $0.acceptsPublishes(bytesMax: bytesMax) } }

    /// The number of publishes for which there was no room, or which were accepted and discarded by ``disconnected()``.
    var discarded: Int { contents.withLock { $0.discarded } }

    /// By when ``close(deadline:)`` wants everything to be sent; nil while the queue is open.
    var closeDeadline: Int64? { contents.withLock { $0.closeDeadline } }

    /// Whether no command waits.
    var isEmpty: Bool { contents.withLock { $0.commands.isEmpty } }

    /// Appends all commands, or without room for the publishes all others.
    func post(_ commands: [NATSConnection.Command]) -> Bool {
        let bytes = commands.reduce(0) { $0 + $1.publishedBytes }
        let (isAccepted, wakes) = contents.withLock { contents in
            guard contents.closeDeadline == nil else { return (false, false) }
            let wasEmpty = contents.commands.isEmpty
            let isAccepted = bytes == 0 || contents.acceptsPublishes(bytesMax: bytesMax)
            if isAccepted {
                contents.commands += commands
                contents.bytes += bytes
            } else {
                let others = commands.filter { $0.publishedBytes == 0 }
                contents.commands += others
                if contents.isConnected { contents.discarded += commands.count - others.count }
            }
            return (isAccepted, wasEmpty && !contents.commands.isEmpty)
        }
        if wakes { wakeUp.signal() }
        return isAccepted
    }

    /// Removes and returns all commands.
    func takeAll() -> [NATSConnection.Command] {
        contents.withLock { contents in
            defer {
                contents.commands = []
                contents.bytes = 0
            }
            return contents.commands
        }
    }

    /// Accepts publishes from now on.
    func connected() { contents.withLock { $0.isConnected = true } }

    /// Refuses publishes from now on, and discards those that wait.
    func disconnected() {
        contents.withLock { contents in
            let count = contents.commands.count
            contents.commands.removeAll { $0.publishedBytes > 0 }
            contents.discarded += count - contents.commands.count
            contents.bytes = 0
            contents.isConnected = false
        }
    }

    /// Refuses all commands from now on, and tells the thread to end.
    /// - Parameter deadline: the monotonic time in milliseconds by which the queued commands should have been sent.
    func close(deadline: Int64) {
        contents.withLock { $0.closeDeadline = $0.closeDeadline ?? deadline }
        wakeUp.signal()
    }
}

extension NATSConnection.Command {
    /// The memory of a publish; 0 for the other commands.
    var publishedBytes: Int {
        guard case .publish(let subject, let payload) = self else { return 0 }
        return max(1, subject.utf8.count + payload.count)
    }
}
