import Glibc
import Observability
import Server
import Threads

/// A running Pusher server: serves Pusher's protocol over WebSockets and its HTTP API, with webhooks.
///
/// It owns the process's signals SIGTERM, SIGINT, SIGHUP and SIGPIPE: a process has one server, and creates it on its main
/// thread before it starts any other, because a thread that exists before gets the signals instead.
public final class RealtimeServer: Sendable {
    let assembly: Assembly
    private let listener: Listener
    private let threads: [Thread]
    private let signals: SignalWait
    private let logWriter: LogWriter
    private let notifier = SystemdNotifier.ofThisProcess
    private let watchdog: Watchdog

    /// The port that the server listens on. If the configured port is 0, the kernel chose it.
    public var port: UInt16 { listener.port }

    /// Whether the socket is the service manager's.
    package var isSocketInherited: Bool { listener.isInherited }

    /// Starts a server that logs to standard error, in JSON. On return, it serves.
    /// - Throws: an error whose description completes "cannot …", if the configuration cannot be meant, the address cannot be
    ///   bound, or a certificate is unusable.
    public convenience init(_ configuration: RealtimeConfiguration) throws {
        if let problem = configuration.problem { throw StartError("use the configuration: \(problem)", isConfiguration: true) }
        let writer = LogWriter(format: .json)
        let log = Log(level: .info, format: .json) { writer.write($0) }
        do throws(StartError) {
            try self.init(configuration, extension: nil, inherited: nil, log: log, logWriter: writer)
        } catch {
            writer.stop()
            throw error
        }
    }

    /// Starts all threads. On return, the server serves.
    /// - Parameters:
    ///   - inherited: the socket of the service manager; nil: a new one listens on the configured address.
    ///   - logWriter: writes the lines of `log`. It is started here.
    /// - Throws: ``StartError`` if the address cannot be bound, a certificate is unusable, or the extension cannot serve.
    package init(
        _ configuration: RealtimeConfiguration, extension serverExtension: (any ServerExtension)?, inherited: Listener?,
        log: Log, logWriter: LogWriter
    ) throws(StartError) {
        self.logWriter = logWriter
        // Block the signals before any thread starts: threads inherit the signal mask, so signals reach only `sigwait`.
        signals = SignalWait()
        logWriter.start()
        if let inherited {
            listener = inherited
        } else {
            listener = try Listener(host: configuration.server.host, port: UInt16(configuration.server.port))
        }
        assembly = try Assembly(configuration, serverExtension, log: log, logWriter: logWriter)
        // So that a backend's first publish is not refused.
        assembly.cluster?.waitUntilUp(milliseconds: 2_000)
        threads = try Self.startLoops(assembly, listener)
        watchdog = Watchdog(
            assembly.heartbeats + (assembly.service?.heartbeats ?? []), abortSeconds: configuration.server.watchdogSeconds,
            readiness: assembly.readiness, notifier: notifier, log: log, logWriter: logWriter)
        notifier.send(.ready)
        logStart()
    }

    private func logStart() {
        let (log, server) = (assembly.log, assembly.configuration.server)
        if listener.isInherited, assembly.cluster != nil {
            log.warning(
                "inherited_socket_in_cluster",
                ["hint": "clients wait for this node while it restarts, instead of going to another one: use no socket unit"])
        }
        let possible = assembly.budget.limit
        if possible < server.connections {
            log.warning(
                "descriptor_limit_too_low",
                [
                    "connections": .number(server.connections), "possible": .number(possible),
                    "hint": "raise the hard limit of open files (ulimit -Hn, LimitNOFILE), or lower server.connections",
                ])
        }
        log.info(
            "listening",
            [
                "host": .text(server.host), "port": .number(Int(listener.port)),
                "socket": .text(listener.isInherited ? "inherited" : "own"), "loops": .number(threads.count),
                "connections": .number(possible),
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

    /// Serves until SIGTERM or SIGINT, then drains: `/readyz` fails, the listener closes, clients are disconnected, within
    /// ``RealtimeConfiguration/Server/drainSeconds``. The process can exit when this returns.
    ///
    /// A second signal aborts the drain. SIGHUP has no effect.
    public func runUntilSignalled() {
        runUntilSignalled(onHangUp: {})
        logWriter.stop()
    }

    /// Serves until SIGTERM or SIGINT, then drains: `/readyz` fails, the extension accepts nothing more, the events of what it
    /// has accepted are sent, the listener closes, clients are disconnected, within `server.drain_seconds`, and the extension
    /// ends.
    ///
    /// A second signal aborts the drain. A third one exits even if the extension has not finished.
    /// - Parameter onHangUp: called for each SIGHUP.
    package func runUntilSignalled(onHangUp: () -> Void) {
        var signal = signals.wait()
        while signal == SIGHUP {
            onHangUp()
            signal = signals.wait()
        }
        notifier.send(.stopping)
        let begin = Clock.monotonicNanoseconds()
        let drainSeconds = assembly.configuration.server.drainSeconds
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
    }

    /// Starts the thread that waits for the second and third signal of a drain.
    private func startForcedExit(unless isStopped: Lock<Bool>) -> Thread {
        let (assembly, signals, logWriter) = (assembly, signals, logWriter)
        return Thread(name: "forced-exit") {
            signals.waitForEnd()
            assembly.abortDrain()
            if isStopped.withLock({ $0 }) { return }
            // From here on only a thread of the extension can delay the exit, such as one that waits for a disk.
            signals.waitForEnd()
            if isStopped.withLock({ $0 }) { return }
            assembly.log.error(
                "forced_exit", ["reason": assembly.service == nil ? "a thread did not finish" : "the store did not finish"])
            logWriter.stop()
            _exit(EXIT_FAILURE)
        }
    }

    /// Replaces the certificates of new connections, if the server has any and the new ones are not empty.
    /// - Throws: ``StartError`` if one is unusable; nothing has changed then.
    package func use(_ certificates: [TLSFiles]) throws(StartError) {
        guard !certificates.isEmpty else { return }
        try assembly.certificates?.replace(with: certificates)
    }
}
