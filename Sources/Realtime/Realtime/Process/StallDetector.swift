/// Decides which threads have stopped making progress, from their heartbeats at the ticks of a watchdog.
///
/// Times are ticks, not readings of a clock: while the process is suspended (a paused virtual machine, SIGSTOP), the
/// watchdog does not tick, and so no thread seems to be stuck afterwards.
struct StallDetector {
    /// A thread is stuck if it has made no progress for this many ticks.
    static let stallTicks = 5

    /// What a tick has found. `ticks` is the number of ticks without progress.
    enum Event: Equatable {
        /// The thread is stuck: once per episode.
        case stalled(thread: Int, ticks: Int)
        /// A stuck thread makes progress again, or has ended.
        case recovered(thread: Int, ticks: Int)
        /// The thread has been stuck for so long that the process must be restarted.
        case abort(thread: Int, ticks: Int)
    }

    private struct Watched {
        var beats: Int?
        /// Ticks since `beats` changed.
        var age = 0
    }

    /// 0: never abort.
    private let abortTicks: Int
    private var threads: [Watched]

    /// - Parameters:
    ///   - abortTicks: the number of ticks without progress after which to abort; values from 1 to `stallTicks` count as
    ///     `stallTicks`. 0: never.
    init(threadCount: Int, abortTicks: Int) {
        self.abortTicks = abortTicks == 0 ? 0 : max(abortTicks, Self.stallTicks)
        threads = Array(repeating: Watched(), count: threadCount)
    }

    /// Whether a thread is stuck.
    var isStalled: Bool { threads.contains { $0.age >= Self.stallTicks } }

    /// - Parameter beats: the current number of beats of each thread; nil for threads that have ended.
    mutating func tick(_ beats: [Int?]) -> [Event] {
        threads.indices.flatMap { tick($0, beats[$0]) }
    }

    private mutating func tick(_ thread: Int, _ beats: Int?) -> [Event] {
        let age = threads[thread].age
        guard let beats, beats == threads[thread].beats else {
            threads[thread] = Watched(beats: beats)
            return age >= Self.stallTicks ? [.recovered(thread: thread, ticks: age)] : []
        }
        threads[thread].age = age + 1
        var events: [Event] = []
        if age + 1 == Self.stallTicks { events.append(.stalled(thread: thread, ticks: age + 1)) }
        if age + 1 == abortTicks { events.append(.abort(thread: thread, ticks: age + 1)) }
        return events
    }
}
