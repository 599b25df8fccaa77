import PusherProtocol
import Threads

/// The end of the server: what is accepted no more, what is still sent, and when clients are disconnected.
extension Assembly {
    /// Makes `/readyz` fail, lets the extension accept nothing more, waits for what was accepted, and starts to drain what it
    /// sends to other services, and the loops. So clients get the events of all accepted commands before they are
    /// disconnected.
    ///
    /// The clients of a node of a cluster go to other nodes, in waves. A lone gateway's have nobody else: they stay until
    /// pushes and webhooks are sent, and are closed all at once in the end.
    /// - Parameter keepsSocket: whether clients can connect while no process serves: they wait for the next one.
    /// - Returns: whether the extension has done all that was accepted; false if that took longer than `seconds`.
    func beginDrain(seconds: Int, keepsSocket: Bool) -> Bool {
        readiness.setReady(false)
        let end = Clock.monotonicMilliseconds() + Int64(seconds) * 1_000
        let hasClosedIntake = service?.closeIntake(waiting: seconds) ?? true
        if !hasClosedIntake {
            log.warning("drain_incomplete", ["reason": "the store has not executed all commands: their events may be late"])
        }
        func secondsLeft() -> Int { max(0, Int((end - Clock.monotonicMilliseconds() + 999) / 1_000)) }
        let rest = secondsLeft()
        service?.finish(withinSeconds: rest)
        let (waves, code): (Int, CloseCode)
        if cluster != nil {
            (waves, code) = (rest, .restart)
        } else {
            service?.wait()
            webhooks.waitUntilSent(until: end)
            // A client that connects at once would be refused, and browsers then wait for many seconds.
            (waves, code) = (0, keepsSocket ? .restart : .overCapacity)
        }
        for loop in wakeups.indices { hub.post(.drain(seconds: waves, requestSeconds: secondsLeft(), code), to: loop) }
        return hasClosedIntake
    }

    /// Stops the threads other than the loops. Call it after the last loop has stopped.
    /// - Parameters:
    ///   - seconds: the longest time that sending the queued webhooks may take.
    ///   - hasDrained: whether the loops have written all that was published.
    func stopServices(webhookSeconds seconds: Int, hasDrained: Bool) {
        channelQueries.stop()
        cluster?.stop()
        service?.stop(hasDrained: hasDrained)
        webhooks.stop(withinSeconds: seconds)
    }

    /// Stops the loops, the extension's sending and the webhooks at once, without draining them.
    func abortDrain() {
        service?.abortIntake()
        for loop in wakeups.indices { hub.post(.stop, to: loop) }
        service?.finish(withinSeconds: 0)
        webhooks.abortDrain()
    }
}
