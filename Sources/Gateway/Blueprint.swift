import Configuration
import FanOut
import Glibc
import HTTPAPI
import Observability
import PusherProtocol
import Server

/// Everything that loops share, and what each needs to build its own.
final class Blueprint: Sendable {
    let settings: Settings
    let log: Log
    let wakeups: [Wakeup]
    let hub: SharedHub
    let board: Board
    let budget: DescriptorBudget

    init(settings: Settings, log: Log) {
        self.settings = settings
        self.log = log
        let cores = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        let loops = min(settings.server.loops > 0 ? settings.server.loops : cores, LoopSet.loopsMax)
        budget = DescriptorBudget(loopCount: loops)  // first: it makes room for what the loops open
        wakeups = (0..<loops).map { _ in Wakeup() }
        hub = SharedHub(wakeups: wakeups, apps: settings.apps.map { AppRules($0) })
        board = Board(loopCount: loops, prefix: settings.metrics.prefix)
    }

    /// Keys of their own for a thread, because a key's context is working memory.
    func makeApplications() -> [Application] {
        settings.apps.enumerated().map { index, app in
            Application(
                index: index, id: app.id, key: app.key, secrets: app.secrets, isEnabled: app.enabled, isTLSOnly: app.tlsOnly,
                origins: AllowedOrigins(app.allowedOrigins), rules: AppRules(app))
        }
    }

    /// Has every loop stop as soon as it can.
    func stopAll() {
        for loop in wakeups.indices { hub.post(.stop, to: loop) }
    }

    var loopOptions: EventLoop.Options {
        let tls = settings.server.tls
        return EventLoop.Options(
            requestBodyBytesMax: requestBodyBytesMax,
            tls: tls.isEnabled ? TLSFiles(certificate: tls.certificate, key: tls.key) : nil,
            isBehindProxy: settings.server.behindProxy)
    }

    /// The largest body that could be a valid request: a batch of events with every byte of their data escaped
    /// (`\u0000`), or one event with every channel named at full length; and room for the rest. Whatever the limits add up
    /// to, nobody has to be believed who announces more than 16 MiB.
    private var requestBodyBytesMax: Int {
        min(
            16_777_216,
            settings.apps.map { app in
                let event = app.limits.eventBytes * 6 + app.limits.nameLength * 8 + 1_024
                return event * app.limits.batchEvents + app.limits.channelsPerEvent * (app.limits.nameLength + 3)
            }.max() ?? 65_536)
    }
}

extension AppRules {
    fileprivate init(_ app: Settings.App) {
        self.init()
        limits = app.limits
        clientEvents = app.clientEvents
        subscriptionCounts = app.subscriptionCounts
    }
}
