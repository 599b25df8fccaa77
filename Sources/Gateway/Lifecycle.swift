import Configuration
import Glibc
import Observability
import Server
import Threads

/// The running gateway: starts its threads, waits for signals, reloads, drains and stops.
package struct Lifecycle {
    private let assembly: Assembly
    private let listener: Listener
    private let threads: [Thread]
    private let signals: SignalWait
    private let logWriter: LogWriter
    private let notifier = SystemdNotifier.ofThisProcess
    private let watchdog: Watchdog
    private let readSettings: () throws(ConfigurationErrors) -> Settings

    /// The port that the gateway listens on. If the configured port is 0, the kernel chose it.
    package var port: UInt16 { listener.port }

    /// Starts all threads. On return, the gateway serves.
    /// - Parameters:
    ///   - inherited: the socket of the service manager; nil: a new one listens on the configured address.
    ///   - logWriter: writes the lines of `log`. It is started here, and stopped by the caller.
    ///   - readSettings: reads the configuration again, for SIGHUP.
    /// - Throws: ``StartError`` if the address cannot be bound, or the store, a key or the certificate is unusable.
    package init(
        settings: Settings, inherited: Listener?, log: Log, logWriter: LogWriter,
        readSettings: @escaping () throws(ConfigurationErrors) -> Settings
    ) throws(StartError) {
        self.readSettings = readSettings
        self.logWriter = logWriter
        // Block the signals before any thread starts: threads inherit the signal mask, so signals reach only `sigwait`.
        signals = SignalWait()
        logWriter.start()
        if let inherited {
            listener = inherited
        } else {
            listener = try Listener(host: settings.server.host, port: UInt16(settings.server.port))
        }
        assembly = try Assembly(settings: settings, log: log, logWriter: logWriter)
        // So that a backend's first publish is not refused.
        assembly.cluster?.waitUntilUp(milliseconds: 2_000)
        threads = try Self.startLoops(assembly, listener)
        watchdog = Watchdog(
            assembly.heartbeats + (assembly.fleet.map { [$0.writerHeartbeat] } ?? []),
            abortSeconds: settings.server.watchdogSeconds,
            readiness: assembly.readiness, notifier: notifier, log: log, logWriter: logWriter)
        notifier.send(.ready)
        settings.logWarnings(to: log)
        if listener.isInherited, settings.cluster.isEnabled {
            log.warning(
                "inherited_socket_in_cluster",
                ["hint": "clients wait for this node while it restarts, instead of going to another one: use no socket unit"])
        }
        let connections = (configured: settings.server.connections, possible: assembly.budget.limit)
        if connections.possible < connections.configured {
            log.warning(
                "descriptor_limit_too_low",
                [
                    "connections": .number(connections.configured), "possible": .number(connections.possible),
                    "hint": "raise the hard limit of open files (ulimit -Hn, LimitNOFILE), or lower server.connections",
                ])
        }
        log.info(
            "listening",
            [
                "host": .text(settings.server.host), "port": .number(Int(listener.port)),
                "socket": .text(listener.isInherited ? "inherited" : "own"), "loops": .number(threads.count),
                "connections": .number(connections.possible),
            ])
    }

    /// Starts one thread per loop, one after the other. They serve only once all of them have a libwebsockets context,
    /// because creating a context is not safe while another context serves.
    private static func startLoops(_ assembly: Assembly, _ listener: Listener) throws(StartError) -> [Thread] {
        let barrier = StartBarrier(assembly.wakeups.count)
        let failure = Lock<StartError?>(nil)
        let threads = assembly.wakeups.indices.map { index in
            let thread = Thread(name: "loop-\(index)") {
                var node: Node?
                do throws(StartError) {
                    node = try Node(index: index, assembly: assembly)
                } catch {
                    failure.withLock { $0 = error }
                }
                barrier.arriveAndWait()
                node?.run(listeningOn: index == 0 ? listener : nil)
            }
            barrier.waitForArrival()
            return thread
        }
        let error = failure.withLock { $0 }
        // Before the loops serve: clients may wait on the service manager's socket.
        if error == nil { assembly.readiness.setReady(true) } else { assembly.abortDrain() }
        barrier.open()
        guard let error else { return threads }
        for thread in threads { thread.join() }
        assembly.stopServices(webhookSeconds: 0, hasDrained: true)
        throw error
    }

    /// Serves until SIGTERM or SIGINT, then drains: `/readyz` fails, commands are refused, the events of earlier commands
    /// are sent, the listener closes, clients are disconnected, within `server.drain_seconds`, and the store is closed. The
    /// process can exit when this returns.
    ///
    /// A second signal aborts the drain. A third one exits even if the store has not finished. SIGHUP reloads the
    /// notification catalogue, the certificates, and the settings of push providers.
    /// - Returns: whether all that was answered with 200 is in the store that the next start opens.
    package func runUntilSignalled() -> Bool {
        var signal = signals.wait()
        while signal == SIGHUP {
            reload()
            signal = signals.wait()
        }
        notifier.send(.stopping)
        let begin = Clock.monotonicNanoseconds()
        let drainSeconds = assembly.settings.server.drainSeconds
        assembly.log.info("draining", ["signal": .number(Int(signal)), "seconds": .number(drainSeconds)])
        let isStopped = Lock(false)
        let forcedExit = startForcedExit(unless: isStopped)
        let hasClosedIntake = assembly.beginDrain(seconds: drainSeconds, keepsSocket: listener.isInherited)
        for thread in threads { thread.join() }
        // The last disconnects cause webhooks, so allow at least a second, even if the drain has used up its time.
        let secondsLeft = drainSeconds - Int((Clock.monotonicNanoseconds() - begin) / 1_000_000_000)
        assembly.stopServices(
            webhookSeconds: max(secondsLeft, 1),
            hasDrained: hasClosedIntake && assembly.readiness.drainedLoopCount == threads.count)
        watchdog.stop()
        isStopped.withLock { $0 = true }
        kill(getpid(), SIGTERM)  // ends the forced-exit thread's wait
        forcedExit.join()
        assembly.log.info("stopped")
        return assembly.fleet?.isStoreIntact ?? true
    }

    /// Starts the thread that waits for the second and third signal of a drain.
    private func startForcedExit(unless isStopped: Lock<Bool>) -> Thread {
        let (assembly, signals, logWriter) = (assembly, signals, logWriter)
        return Thread(name: "forced-exit") {
            signals.waitForEnd()
            assembly.abortDrain()
            if isStopped.withLock({ $0 }) { return }
            // From here on only a disk that does not respond can delay the exit. Commands that got a response are on
            // disk; others may or may not be.
            signals.waitForEnd()
            if isStopped.withLock({ $0 }) { return }
            assembly.log.error("forced_exit", ["reason": "the store did not finish"])
            logWriter.stop()
            _exit(EXIT_FAILURE)
        }
    }

    /// Replaces the notification catalogue, the certificates and the settings of push providers. An invalid configuration
    /// changes nothing.
    private func reload() {
        do throws(ConfigurationErrors) {
            let settings = try readSettings()
            let tls = settings.server.tls
            if let certificates = assembly.certificates, !tls.isEmpty { try replace(certificates, tls) }
            try use(settings)
            assembly.log.info(
                "reloaded",
                ["notifications": .number(settings.notifications.names.count), "certificates": .number(tls.count)])
            if settings.differsBesidesReloaded(from: assembly.settings) {
                assembly.log.warning("reload_incomplete", ["hint": "other settings changed: restart to apply them"])
            }
        } catch {
            assembly.log.error(
                "reload_failed",
                ["reason": .text(error.description), "hint": "the previous texts, certificates and keys stay in use"])
        }
    }

    private func use(_ settings: Settings) throws(ConfigurationErrors) {
        do throws(CredentialError) {
            try assembly.fleet?.use(settings)
        } catch {
            throw ConfigurationErrors([ConfigurationError(file: error.key, problem: error.problem)])
        }
    }

    private func replace(_ certificates: TLSCertificates, _ tls: [Settings.TLS]) throws(ConfigurationErrors) {
        do throws(StartError) {
            try certificates.replace(with: tls.map(TLSFiles.init))
        } catch {
            throw ConfigurationErrors([ConfigurationError(file: "server.tls", problem: "cannot \(error)")])
        }
    }
}

extension Settings {
    /// Whether a setting changed that is only read at the start.
    fileprivate func differsBesidesReloaded(from old: Settings) -> Bool {
        var other = self
        other.notifications = old.notifications
        if other.push.apns.enabled == old.push.apns.enabled { other.push.apns = old.push.apns }
        if other.push.fcm.enabled == old.push.fcm.enabled { other.push.fcm = old.push.fcm }
        if other.server.tls.isEmpty == old.server.tls.isEmpty { other.server.tls = old.server.tls }
        other.server.port = old.server.port  // may differ from the file: the command line overrides it
        return other != old
    }
}

/// Receives SIGTERM, SIGINT and SIGHUP synchronously, so that they do not interrupt threads. Ignores SIGPIPE, because a
/// write to a closed socket also reports an error.
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

    /// Blocks until one of the signals arrives, and returns its number.
    func wait() -> Int32 {
        var set = set
        var number: Int32 = 0
        while sigwait(&set, &number) != 0 {}
        return number
    }

    /// Blocks until SIGTERM or SIGINT. A stopping gateway ignores SIGHUP.
    func waitForEnd() { while wait() == SIGHUP {} }
}
