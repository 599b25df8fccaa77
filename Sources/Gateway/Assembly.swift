import Access
import Configuration
import Crypto
import FanOut
import Glibc
import HTTP
import HTTPAPI
import JWT
import Observability
import Push
import Server
import Webhooks

/// Everything that loops share, and what each needs to build its own.
final class Assembly: Sendable {
    let settings: Settings
    let log: Log
    let wakeups: [Wakeup]
    let hub: SharedHub
    let metrics: NodeMetrics
    let budget: DescriptorBudget
    let fleet: FleetService
    let webhooks: WebhookWorker

    /// - Throws: ``StartError`` when the store cannot be opened, or a key not be used.
    init(settings: Settings, log: Log) throws(StartError) {
        self.settings = settings
        self.log = log
        let cores = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        let loops = min(settings.server.loops > 0 ? settings.server.loops : cores, LoopSet.loopsMax)
        budget = DescriptorBudget(loopCount: loops)  // first: it makes room for what the loops open
        wakeups = (0..<loops).map { _ in Wakeup() }
        let webhooks = WebhookWorker(endpoints: settings.webhookEndpoints, log: log)
        self.webhooks = webhooks
        hub = SharedHub(wakeups: wakeups, apps: settings.appRules(webhooks), notices: webhooks.inbox)
        metrics = NodeMetrics(loopCount: loops, prefix: settings.metrics.prefix)
        do throws(StartError) {
            fleet = try FleetService(
                settings: settings, hub: hub, policy: ChannelPolicy(settings.channels), webhooks: webhooks, log: log)
        } catch {
            webhooks.stop(withinSeconds: 0)
            throw error
        }
    }

    /// Ends what the loops have worked with; after the last of them has stopped.
    /// - Parameter seconds: for what is on its way to backends.
    func stopOthers(webhookSeconds seconds: Int) {
        fleet.stop()
        webhooks.stop(withinSeconds: seconds)
    }

    /// Has everything stop as soon as it can.
    func abortDrain() {
        for loop in wakeups.indices { hub.post(.stop, to: loop) }
        fleet.pushService.finish(withinSeconds: 0)
        webhooks.abortDrain()
    }

    /// Keys of their own for a thread, because a key's context is working memory.
    func makeApplications() -> [Application] {
        zip(settings.apps, settings.appRules(webhooks)).enumerated().map { index, app in
            let (app, rules) = app
            return Application(
                index: index, id: app.id, key: app.key, secrets: app.secrets, isEnabled: app.enabled, isTLSOnly: app.tlsOnly,
                origins: AllowedOrigins(app.allowedOrigins), rules: rules,
                encryptionMasterKey: Base64.bytes(of: app.encryptionMasterKey) ?? [])
        }
    }

    /// The fleet's API for a thread, with keys of its own.
    /// - Throws: ``StartError`` when a configured public key is none.
    func makeFleetRouter(_ apps: [Application]) throws(StartError) -> FleetRouter {
        let app = apps[fleet.app]
        let fleet = fleet
        do throws(TokenIssuerError) {
            let verifier = try TokenVerifier(issuers: fleet.issuers, ring: fleet.ring)
            let cookies = settings.auth.jwt.map(\.cookie).filter { !$0.isEmpty }
            return FleetRouter(
                app: app, authenticator: Authenticator(verifier: verifier, cookies: cookies, origins: app.origins),
                metricsToken: settings.metrics.token, isCatalogued: { fleet.isCatalogued($0) }, isTimeZone: LocalTime.isKnown)
        } catch {
            throw StartError("use auth.jwt: \(error)", isConfiguration: true)
        }
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

extension Settings {
    /// What the hub has to know of each application; the fleet's channels are those of one of them.
    fileprivate func appRules(_ webhooks: WebhookWorker) -> [AppRules] {
        apps.enumerated().map { index, app in
            var rules = AppRules()
            rules.limits = app.limits
            rules.clientEvents = app.clientEvents
            rules.subscriptionCounts = app.subscriptionCounts
            rules.webhooks = webhooks.kindsWanted(by: index)
            rules.policy = index == fleetAppIndex ? ChannelPolicy(channels) : nil
            return rules
        }
    }
}
