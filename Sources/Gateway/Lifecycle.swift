import Configuration
import Glibc
import Observability
import Server
import Threads

/// The running gateway: threads, and the signals that end them.
package struct Lifecycle {
    private let assembly: Assembly
    private let listener: Listener
    private let threads: [Thread]
    private let signals: SignalWait
    private let reading: () throws(ConfigurationErrors) -> Settings

    /// Where it listens: the configured port, or the one that port 0 became.
    package var port: UInt16 { listener.port }

    /// Starts to serve.
    /// - Parameter reading: reads the configuration again, for SIGHUP.
    /// - Throws: ``StartError`` when the address cannot be bound, or the certificate used.
    package init(
        settings: Settings, log: Log, reading: @escaping () throws(ConfigurationErrors) -> Settings
    ) throws(StartError) {
        self.reading = reading
        // Before any thread is made, so that all inherit it: signals come to whoever waits for them.
        signals = SignalWait()
        listener = try Listener(host: settings.server.host, port: UInt16(settings.server.port))
        let blueprint = try Assembly(settings: settings, log: log)
        let listener = self.listener
        // One after the other, all before the first serves: making a library context is not safe beside one that runs.
        let start = StartBarrier(blueprint.wakeups.count)
        let failure = Lock<StartError?>(nil)
        threads = blueprint.wakeups.indices.map { index in
            let thread = Thread(name: "loop-\(index)") {
                var node: Node?
                do throws(StartError) {
                    node = try Node(index: index, blueprint: blueprint)
                } catch {
                    failure.withLock { $0 = error }
                }
                start.arriveAndWait()
                node?.run(listeningOn: index == 0 ? listener : nil)
            }
            start.waitForArrival()
            return thread
        }
        let error = failure.withLock { $0 }
        if error != nil { blueprint.abortDrain() }
        start.open()
        if let error {
            for thread in threads { thread.join() }
            blueprint.stopOthers(webhookSeconds: 0)
            throw error
        }
        self.assembly = blueprint
        blueprint.metrics.setReady(true)
        settings.logWarnings(to: log)
        log.info(
            "listening",
            ["host": .text(settings.server.host), "port": .number(Int(listener.port)), "loops": .number(threads.count)])
    }

    /// Serves until SIGTERM or SIGINT, then drains: not ready, no new connections, clients told to come back, exit.
    /// A second signal ends the drain at once; a third does not even wait for the store. SIGHUP takes over new texts.
    package func runUntilSignalled() {
        var first = signals.wait()
        while first == SIGHUP {
            reload()
            first = signals.wait()
        }
        let begun = Clock.monotonicNanoseconds()
        assembly.metrics.setReady(false)
        assembly.log.info(
            "draining", ["signal": .number(Int(first)), "seconds": .number(assembly.settings.server.drainSeconds)])
        assembly.fleet.pushService.finish(withinSeconds: assembly.settings.server.drainSeconds)
        for loop in assembly.wakeups.indices {
            assembly.hub.post(.drain(seconds: assembly.settings.server.drainSeconds), to: loop)
        }
        let (blueprint, signals) = (assembly, signals)
        let isDone = Lock(false)
        let impatience = Thread(name: "second-signal") {
            signals.waitForEnd()
            blueprint.abortDrain()
            if !isDone.withLock({ $0 }) {
                // Only a disk that does not answer keeps it now. What was answered is on it; what is not may be.
                signals.waitForEnd()
                if !isDone.withLock({ $0 }) {
                    blueprint.log.error("stopped_by_force", ["reason": "the store did not finish"])
                    _exit(EXIT_FAILURE)
                }
            }
        }
        for thread in threads { thread.join() }
        // The last clients to leave are news for backends: a second, though nothing is left of the drain.
        let secondsLeft = blueprint.settings.server.drainSeconds - Int((Clock.monotonicNanoseconds() - begun) / 1_000_000_000)
        blueprint.stopOthers(webhookSeconds: max(secondsLeft, 1))
        isDone.withLock { $0 = true }
        kill(getpid(), SIGTERM)  // ends the wait for a second signal, if none has
        impatience.join()
        blueprint.log.info("stopped")
    }
}

extension Lifecycle {
    /// What notifications say may change while everything runs. A configuration with mistakes changes nothing.
    private func reload() {
        do throws(ConfigurationErrors) {
            let settings = try reading()
            assembly.fleet.use(settings.notifications)
            assembly.log.info("reloaded", ["notifications": .number(settings.notifications.names.count)])
            if settings.changesMoreThanTexts(of: assembly.settings) {
                assembly.log.warning(
                    "reload_incomplete", ["meaning": "of the configuration's other changes a restart makes use"])
            }
        } catch {
            assembly.log.error("reload_failed", ["reason": .text(error.description), "meaning": "the old texts stay in use"])
        }
    }
}

extension Settings {
    fileprivate func changesMoreThanTexts(of old: Settings) -> Bool {
        var other = self
        other.notifications = old.notifications
        other.server.port = old.server.port  // which the command line may have set
        return other != old
    }
}

/// SIGTERM, SIGINT and SIGHUP, taken by whoever waits instead of interrupting anybody. SIGPIPE is ignored: writes say it.
private struct SignalWait: Sendable {
    private let set: sigset_t

    init() {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        sigaddset(&set, SIGHUP)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
        self.set = set
    }

    func wait() -> Int32 {
        var set = set
        var number: Int32 = 0
        while sigwait(&set, &number) != 0 {}
        return number
    }

    /// Waits for SIGTERM or SIGINT: a gateway that stops takes over no texts.
    func waitForEnd() { while wait() == SIGHUP {} }
}
