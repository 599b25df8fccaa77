import Glibc
import Observability
import Primitives
import Threads

/// Looks once a second whether the loops, and the threads that the extension names, make progress. If one is stuck, `/healthz` of the other
/// loops responds 503; if it stays stuck, the watchdog aborts the process, so that a supervisor restarts it. It also
/// feeds the watchdog of systemd.
///
/// A stuck thread cannot be repaired: its state may be half changed. Without the watchdog, nothing would notice it,
/// because the other threads keep responding.
struct Watchdog {
    private let thread: Thread
    private let stopRequest = WorkQueue<Void>(capacity: 1)

    /// Starts the thread.
    /// - Parameters:
    ///   - heartbeats: of the threads to watch.
    ///   - abortSeconds: the seconds without progress after which to abort; 0: never.
    ///   - logWriter: writes the lines of `log`, and is stopped before the abort.
    init(
        _ heartbeats: [Heartbeat], abortSeconds: Int, readiness: Readiness, notifier: SystemdNotifier, log: Log,
        logWriter: LogWriter
    ) {
        let stopRequest = stopRequest
        thread = Thread(name: "watchdog") {
            var detector = StallDetector(threadCount: heartbeats.count, abortTicks: abortSeconds)
            var batch: [Void] = []
            while stopRequest.take(into: &batch, most: 1, waiting: Timing.watchdogTick) == .timedOut {
                for event in detector.tick(heartbeats.map(\.beats)) {
                    Self.report(event, heartbeats, log)
                    if case .abort = event {
                        logWriter.stop()
                        abort()
                    }
                }
                readiness.setStalled(detector.isStalled)
                if !detector.isStalled { notifier.send(.watchdog) }
            }
        }
    }

    /// Ends the thread. Call once.
    func stop() {
        _ = stopRequest.post(())
        thread.join()
    }

    private static func report(_ event: StallDetector.Event, _ heartbeats: [Heartbeat], _ log: Log) {
        switch event {
        case .stalled(let thread, let ticks):
            log.error("thread_stalled", ["thread": .text(heartbeats[thread].name), "seconds": .number(ticks)])
        case .recovered(let thread, let ticks):
            log.warning("thread_recovered", ["thread": .text(heartbeats[thread].name), "seconds": .number(ticks)])
        case .abort(let thread, let ticks):
            log.error(
                "watchdog_abort",
                [
                    "thread": .text(heartbeats[thread].name), "seconds": .number(ticks),
                    "hint": "the process aborts, so that its supervisor restarts it (server.watchdog_seconds)",
                ])
        }
    }
}
