import Observability
import Server

/// Logs what a loop could not serve: requests for which a queue was full, connections that read too slowly, and pauses of
/// accepting.
struct OverloadLog {
    private let loop: Int
    private let log: Log
    /// Rejections since the last tick, by the queue that was full.
    private var rejections: [FullQueue: Int] = [:]
    /// The values of `.slowConsumers` and `.acceptPauses` that the log already contains.
    private var logged = (drops: 0, pauses: 0)
    private var acceptPause = Episode()

    init(loop: Int, log: Log) {
        self.loop = loop
        self.log = log
    }

    /// Counts a rejection because of a full queue. The next tick logs all of them in one record per queue.
    mutating func addRejection(of queue: FullQueue) { rejections[queue, default: 0] += 1 }

    /// Logs the rejections since the last tick.
    /// - Parameters:
    ///   - isAcceptPaused: whether the process accepts no connections at the moment.
    ///   - tick: the number of ticks, one per second.
    mutating func tick(isAcceptPaused: Bool, at tick: Int) {
        if isAcceptPaused { acceptPause.continues(at: tick) }
        for (queue, count) in rejections {
            log.warning("queue_full", ["loop": .number(loop), "count": .number(count), "queue": .text(queue.name)])
        }
        rejections.removeAll()
    }

    /// Logs how many slow connections were dropped since the last call, and whether accepting was paused. Accepting
    /// resumes and pauses again whenever a connection closes, up to ten times a second, so that is logged per episode.
    mutating func write(_ metrics: LoopMetrics, at tick: Int) {
        let (drops, pauses) = (metrics[.slowConsumers], metrics[.acceptPauses])
        if drops > logged.drops {
            log.warning("slow_consumers_dropped", ["loop": .number(loop), "count": .number(drops - logged.drops)])
        }
        if pauses > logged.pauses, acceptPause.begins(at: tick) {
            log.warning("accepting_paused", ["reason": "no connection left: see server.connections and the descriptor limit"])
        }
        logged = (drops, pauses)
    }
}
