import Synchronization

/// Whether the gateway accepts clients (`GET /readyz`), whether all its threads make progress (`GET /healthz`), and how
/// many loops have drained. All threads share it.
final class Readiness: Sendable {
    private let ready = Atomic<Bool>(false)
    private let stalled = Atomic<Bool>(false)
    private let drainedLoops = Atomic<Int>(0)

    var isReady: Bool { ready.load(ordering: .relaxed) }

    func setReady(_ isReady: Bool) { ready.store(isReady, ordering: .relaxed) }

    /// Whether a thread is stuck.
    var isStalled: Bool { stalled.load(ordering: .relaxed) }

    func setStalled(_ isStalled: Bool) { stalled.store(isStalled, ordering: .relaxed) }

    /// The number of loops that have drained.
    var drainedLoopCount: Int { drainedLoops.load(ordering: .relaxed) }

    /// Records that the calling loop has drained.
    /// - Returns: the number of drained loops, including the caller's.
    func recordDrained() -> Int { drainedLoops.wrappingAdd(1, ordering: .relaxed).newValue }
}
