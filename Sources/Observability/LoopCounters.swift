import Synchronization

/// What one loop has done and holds. Its loop alone writes; anybody reads.
package final class LoopCounters: Sendable {
    package let connections = Atomic<Int>(0)
    package let opened = Atomic<Int>(0)
    package let closed = Atomic<Int>(0)
    package let messagesReceived = Atomic<Int>(0)
    package let messagesSent = Atomic<Int>(0)
    package let bytesReceived = Atomic<Int>(0)
    package let bytesSent = Atomic<Int>(0)
    package let requests = Atomic<Int>(0)
    package let requestBytes = Atomic<Int>(0)
    package let responseBytes = Atomic<Int>(0)
    package let outboxBytes = Atomic<Int>(0)
    package let slowConsumers = Atomic<Int>(0)
    package let refusedPublishes = Atomic<Int>(0)
    package let limitedClientEvents = Atomic<Int>(0)
    package let acceptPauses = Atomic<Int>(0)

    package init() {}
}

extension Atomic where Value == Int {
    /// Adds; the order among counters means nothing.
    package borrowing func add(_ amount: Int = 1) { wrappingAdd(amount, ordering: .relaxed) }

    package var value: Int { load(ordering: .relaxed) }
}
