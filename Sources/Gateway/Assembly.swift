import Access
import Addresses
import Cluster
import Configuration
import Console
import Crypto
import FanOut
import Fleet
import Glibc
import HTTP
import JWT
import Observability
import Push
import PusherAPI
import PusherProtocol
import SMS
import Server
import Threads
import Webhooks

/// Creates the parts of the gateway: in `init` those that all loops share, in the `make…` functions those that each
/// loop owns.
final class Assembly: Sendable {
    let settings: Settings
    let log: Log
    let logWriter: LogWriter
    let wakeups: [Wakeup]
    let hub: SharedHub
    let metrics: NodeMetrics
    let readiness = Readiness()
    /// By loop.
    let heartbeats: [Heartbeat]
    let budget: DescriptorBudget
    private let clientLimits: ClientLimits
    /// Nil for unencrypted connections.
    let certificates: TLSCertificates?
    /// Nil if `auth.replay_protection` is off.
    let replayGuard: ReplayGuard?
    /// Nil if the gateway is a plain Pusher server.
    let fleet: FleetService?
    /// Nil unless the gateway is a node of a cluster.
    let cluster: ClusterService?
    let webhooks: WebhookWorker
    let channelQueries: ChannelQueryWorker
    /// Requests that took long.
    let slowRequests: RateLimitedLog

    /// - Throws: ``StartError`` if the store cannot be opened, or a key or certificate is unusable.
    init(settings: Settings, log: Log, logWriter: LogWriter) throws(StartError) {
        self.settings = settings
        self.log = log
        self.logWriter = logWriter
        slowRequests = RateLimitedLog(log, .warning, "slow_request")
        let cores = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        let loops = min(settings.server.loops > 0 ? settings.server.loops : cores, LoopSet.loopsMax)
        // First: sets the descriptor limit before loops open descriptors.
        let endpoints = settings.webhookEndpoints
        // The connections of the adapter, and those to the backend that knows opaque tokens, need as many descriptors as those
        // of webhooks.
        let smsConnections = !settings.fleet.enabled || SMSAdapter(settings.otp) == nil ? 0 : SMSLimits.connectionsMax
        let introspections =
            settings.fleet.enabled && settings.auth.introspection.isEnabled ? IntrospectionThread.connectionsMax : 0
        budget = DescriptorBudget(
            connectionsMax: settings.server.connections, loopCount: loops,
            webhookCount: endpoints.count + smsConnections + introspections)
        clientLimits = ClientLimits(
            AddressLimits(
                connectionsMax: settings.server.connectionsPerIP,
                handshakesPerSecond: settings.server.handshakesPerIPPerSecond))
        replayGuard = settings.auth.replayProtection ? Self.makeReplayGuard() : nil
        certificates = settings.server.tls.isEmpty ? nil : try TLSCertificates(settings.server.tls.map(TLSFiles.init))
        wakeups = (0..<loops).map { _ in Wakeup() }
        heartbeats = (0..<loops).map { Heartbeat("loop-\($0)") }
        let webhooks = WebhookWorker(endpoints: endpoints, debounces: !settings.cluster.isEnabled, log: log)
        self.webhooks = webhooks
        let node = settings.cluster.isEnabled ? ClusterNode(settings.cluster) : nil
        let rules = settings.appRules(webhooks)
        let hub = SharedHub(
            wakeups: wakeups, apps: rules, webhookInbox: webhooks.inbox,
            refusals: ClientRefusals(apps: settings.apps.map(\.id), log: log),
            cluster: node.map { SharedHub.ClusterState($0, settings, rules) },
            gate: settings.fleet.enabled ? FleetAccess(rules) : nil)
        self.hub = hub
        let cluster = node.map {
            ClusterService(settings.cluster, node: $0, apps: settings.apps.map(\.id), hub: hub, log: log) { question in
                AuthorizedConnection(question).map { hub.apply($0.input, ifHere: $0.socket) ? AuthorizedConnection.isHere : [] }
            }
        }
        self.cluster = cluster
        metrics = NodeMetrics(loopCount: loops)
        do throws(StartError) {
            fleet =
                settings.fleet.enabled
                ? try FleetService(
                    settings: settings, hub: hub, policy: settings.channelPolicy, webhooks: webhooks,
                    metrics: metrics, cluster: cluster, log: log) : nil
        } catch {
            cluster?.stop()
            webhooks.stop(withinSeconds: 0)
            throw error
        }
        let apps = settings.apps.map(\.id)
        let channelQueries = ChannelQueryWorker(hub: hub, apps: apps)
        self.channelQueries = channelQueries
        let (metrics, fleet) = (metrics, fleet)
        cluster?.sources.withLock {
            $0 = ClusterService.Sources(
                figures: { fleet.map { StatsResponse(metrics: metrics, hub: hub, fleet: $0, apps: apps).json } ?? [] },
                connections: { channelQueries.post($0, after: $1, limit: $2, $3) })
        }
    }

    /// Remembers signed requests over all loops.
    private static func makeReplayGuard() -> ReplayGuard {
        let seen = Lock(SeenSignatures(capacity: seenSignaturesMax))
        return { head in
            let now = Clock.unixMilliseconds() / 1000
            return seen.withLock { $0.insert(head, now: now) }
        }
    }

    /// Enough for 1,600 requests a second for 20 minutes; at most 80 MB.
    private static let seenSignaturesMax = 2_000_000

    /// Makes `/readyz` fail, refuses commands, waits for those that were accepted, and starts to drain the push lanes and
    /// the loops. So clients get the events of all accepted commands before they are disconnected.
    ///
    /// The clients of a node of a cluster go to other nodes, in waves. A lone gateway's have nobody else: they stay until
    /// pushes and webhooks are sent, and are closed all at once in the end.
    /// - Parameter keepsSocket: whether clients can connect while no process serves: they wait for the next one.
    /// - Returns: whether the store has executed all accepted commands; false if that took longer than `seconds`.
    func beginDrain(seconds: Int, keepsSocket: Bool) -> Bool {
        readiness.setReady(false)
        let end = Clock.monotonicMilliseconds() + Int64(seconds) * 1_000
        let hasClosedIntake = fleet?.closeIntake(waiting: seconds) ?? true
        if !hasClosedIntake {
            log.warning("drain_incomplete", ["reason": "the store has not executed all commands: their events may be late"])
        }
        func secondsLeft() -> Int { max(0, Int((end - Clock.monotonicMilliseconds() + 999) / 1_000)) }
        let rest = secondsLeft()
        fleet?.pushService.finish(withinSeconds: rest)
        let (waves, code): (Int, CloseCode)
        if cluster != nil {
            (waves, code) = (rest, .restart)
        } else {
            fleet?.pushService.wait()
            webhooks.waitUntilSent(until: end)
            // A client that connects at once would be refused, and browsers then wait for many seconds.
            (waves, code) = (0, keepsSocket ? .restart : .overCapacity)
        }
        for loop in wakeups.indices { hub.post(.drain(seconds: waves, requestSeconds: secondsLeft(), code), to: loop) }
        return hasClosedIntake
    }

    /// Stops the store, push and webhooks. Call it after the last loop has stopped.
    /// - Parameters:
    ///   - seconds: the longest time that sending the queued webhooks may take.
    ///   - hasDrained: whether the loops have written all that was published.
    func stopServices(webhookSeconds seconds: Int, hasDrained: Bool) {
        channelQueries.stop()
        cluster?.stop()
        fleet?.stop(hasDrained: hasDrained)
        webhooks.stop(withinSeconds: seconds)
    }

    /// Stops the loops, the push lanes and the webhooks at once, without draining them.
    func abortDrain() {
        fleet?.abortIntake()
        for loop in wakeups.indices { hub.post(.stop, to: loop) }
        fleet?.pushService.finish(withinSeconds: 0)
        webhooks.abortDrain()
    }

    /// The applications for one loop. Each loop has its own copies, because the context of a signing key is not
    /// thread-safe.
    func makeApplications() -> [Application] {
        zip(settings.apps, settings.appRules(webhooks)).enumerated().map { index, app in
            let (app, rules) = app
            return Application(
                index: index, id: app.id, key: app.key, secrets: app.secrets, isEnabled: app.enabled, isTLSOnly: app.tlsOnly,
                origins: AllowedOrigins(app.allowedOrigins), rules: rules,
                encryptionMasterKey: Base64.bytes(of: app.encryptionMasterKey) ?? [])
        }
    }

    /// The operators' page; nil if it is off.
    private var console: ConsolePage? {
        guard settings.console.isEnabled else { return nil }
        return ConsolePage(
            key: settings.apps[settings.fleetAppIndex].key, tileURL: settings.console.tileURL,
            pathPrefix: settings.server.pathPrefix)
    }

    /// What runs on top of the Pusher server on one loop's thread.
    /// - Throws: ``StartError`` if a configured public key is invalid.
    func makeNodeExtension(_ apps: [Application]) throws(StartError) -> (any NodeExtension)? {
        guard let fleet else { return nil }
        return FleetNode(fleet, try makeFleetRouter(apps, fleet), apps: apps.map(\.id))
    }

    /// The fleet API's router for one loop, with its own keys.
    /// - Throws: ``StartError`` if a configured public key is invalid.
    private func makeFleetRouter(_ apps: [Application], _ fleet: FleetService) throws(StartError) -> FleetRouter {
        let app = apps[fleet.app]
        let rates = fleet.rates
        let (accounts, activity, endedSessions) = (fleet.accounts, fleet.activity, fleet.endedSessions)
        do throws(TokenIssuerError) {
            let verifier = try TokenVerifier(
                issuers: fleet.issuers, keyCache: fleet.keyCache, isEnded: { endedSessions.contains($0) })
            let cookies = settings.auth.jwt.map(\.cookie).filter { !$0.isEmpty }
            var lookUp: (@Sendable (OpaqueToken) -> VerificationResult?)?
            if let introspection = fleet.introspection { lookUp = { introspection.lookUp($0) } }
            return FleetRouter(
                app: app,
                authenticator: Authenticator(
                    verifier: verifier, cookies: cookies, sessions: SessionCookies(settings.auth.session),
                    origins: app.origins, lookUp: lookUp, noteMissing: { fleet.noteMissing(setting: $0) }),
                metricsToken: settings.metrics.token, isCatalogued: { fleet.isCatalogued($0) }, isTimeZone: LocalTime.isKnown,
                isPushedAs: { fleet.isPushedAs($0) }, console: console,
                accounts: settings.accounts.isEnabled
                    ? AccountCheck(
                        countryCode: settings.accounts.countryCode, seen: { activity.record($0) },
                        entry: { accounts.entry(ofUser: $0) }) : nil,
                summaries: SummarySettings(settings.accounts),
                codeCountries: settings.otp.isEnabled ? settings.otp.countries : nil,
                permits: { rates.permits($0, $1) }, charge: { rates.charge($0, commands: $1) })
        } catch {
            throw StartError("use auth.jwt: \(error)", isConfiguration: true)
        }
    }

    var loopOptions: EventLoop.Options {
        EventLoop.Options(
            bufferedBytesMax: settings.server.bufferBytes / wakeups.count,
            outboxBytesMax: settings.server.outgoingBytes / wakeups.count, certificates: certificates,
            proxies: TrustedProxies(settings.server),
            usesProxyProtocol: settings.server.proxyProtocol, clientLimits: clientLimits,
            headBytesMax: settings.server.headBytes, pathPrefix: settings.server.pathPrefix)
    }
}

extension Settings {
    /// The rules of the fleet's channels. That of the operators' channel precedes those of the configuration, in which a
    /// pattern such as `*` could make it public.
    fileprivate var channelPolicy: ChannelPolicy {
        ChannelPolicy([ChannelPolicy.Rule(LiveStats.channel, .ops)] + channels.map(ChannelPolicy.Rule.init))
    }

    /// The hub's rules for each application. Only the application with the fleet's channels has a channel policy.
    fileprivate func appRules(_ webhooks: WebhookWorker) -> [AppRules] {
        apps.enumerated().map { index, app in
            var rules = AppRules()
            rules.limits = app.limits
            rules.clientEvents = app.clientEvents
            rules.subscriptionCounts = app.subscriptionCounts
            rules.webhooks = webhooks.kindsWanted(by: index)
            rules.channels = fleet.enabled && index == fleetAppIndex ? channelPolicy : nil
            return rules
        }
    }
}
