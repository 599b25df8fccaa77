/// Numbers the messages that this node sends, so that receivers notice a loss.
struct SentNumbers {
    /// How long the last number on a subject is remembered, in milliseconds. Without a limit, every channel that was ever
    /// published to would take memory.
    private static let memory: Int64 = 60_000

    private var last: UInt64 = 0
    private var lastOnSubject: [String: (number: UInt64, at: Int64)] = [:]
    private var sweptAt: Int64 = 0

    /// The number of the next message, and that of the one before it on the subject; 0: none is remembered.
    mutating func next(on subject: String, at now: Int64) -> (number: UInt64, before: UInt64) {
        last += 1
        let before = lastOnSubject.updateValue((last, now), forKey: subject)
        return (last, before?.number ?? 0)
    }

    /// Forgets subjects that were not used for long.
    mutating func tick(at now: Int64) {
        guard now - sweptAt >= Self.memory else { return }
        sweptAt = now
        lastOnSubject = lastOnSubject.filter { now - $0.value.at < Self.memory }
    }
}

/// Finds losses and repetitions among the messages received on one subject.
struct ReceivedNumbers {
    enum Finding: Equatable {
        case next
        /// At least one message before this one was lost.
        case gap
        /// It was received before.
        case repeated
    }

    private var last: [Epoch: UInt64] = [:]

    mutating func receive(_ message: ClusterMessage) -> Finding {
        let seen = last[message.sender]
        if let seen, message.number <= seen { return .repeated }
        last[message.sender] = message.number
        guard let seen, message.numberBefore != 0 else { return .next }
        return message.numberBefore > seen ? .gap : .next
    }

    mutating func forget(_ sender: Epoch) { last[sender] = nil }

    /// After a loss of the connection the numbers say nothing.
    mutating func forgetAll() { last = [:] }
}
