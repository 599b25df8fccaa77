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
    let budget = DescriptorBudget()

    init(settings: Settings, log: Log) {
        self.settings = settings
        self.log = log
        let cores = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        let loops = min(settings.server.loops > 0 ? settings.server.loops : cores, LoopSet.loopsMax)
        wakeups = (0..<loops).map { _ in Wakeup() }
        hub = SharedHub(wakeups: wakeups, appCount: settings.apps.count)
        board = Board(loopCount: loops, prefix: settings.metrics.prefix)
    }

    /// Keys of their own for a thread, because a key's context is working memory.
    func makeApplications() -> [Application] {
        settings.apps.enumerated().map { index, app in
            Application(
                index: index, id: app.id, key: app.key, secret: app.secret, isEnabled: app.enabled, limits: app.limits)
        }
    }

    /// The largest body that could be a valid request: every byte of the data escaped (`\u0000`), every channel named
    /// at full length, and room for the rest.
    var requestBodyBytesMax: Int {
        settings.apps.map { app in
            app.limits.eventBytes * 6 + app.limits.channelsPerEvent * (app.limits.nameLength + 3) + 8_192
        }.max() ?? 65_536
    }
}
