import Addresses
import Cluster
import Crypto
import FanOut
import Glibc
import HTTP
import Observability
import PusherAPI
import PusherProtocol
import Server
import Threads
import Webhooks

/// Creates the parts of the server: in `init` those that all loops share, in the `make…` functions those that each
/// loop owns.
final class Assembly: Sendable {
    let configuration: RealtimeConfiguration
    let log: Log
    let logWriter: LogWriter
    let wakeups: [Wakeup]
    let hub: SharedHub
    let metrics: NodeMetrics
    let readiness = Readiness()
    /// By loop.
    let heartbeats: [Heartbeat]
    let budget: DescriptorBudget
    private let clientLimits: SharedAddressLimits
    /// Of the applications, by index.
    let rules: [AppRules]
    /// Nil for unencrypted connections.
    let certificates: TLSCertificates?
    /// Nil if signed requests may be repeated.
    let replayGuard: ReplayGuard?
    /// What runs on top of the Pusher server; nil if nothing does.
    let service: (any ExtensionService)?
    /// Nil unless the gateway is a node of a cluster.
    let cluster: ClusterService?
    let webhooks: WebhookWorker
    let channelQueries: ChannelQueryWorker
    /// Requests that took long.
    let slowRequests: RateLimitedLog

    /// - Throws: ``StartError`` if a certificate is unusable, or the extension cannot serve.
    init(
        _ configuration: RealtimeConfiguration, _ serverExtension: (any ServerExtension)?, log: Log, logWriter: LogWriter
    ) throws(StartError) {
        self.configuration = configuration
        self.log = log
        self.logWriter = logWriter
        slowRequests = RateLimitedLog(log, .warning, "slow_request")
        let server = configuration.server
        let cores = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        let loops = min(server.loops > 0 ? server.loops : cores, LoopSet.loopsMax)
        // First: sets the descriptor limit before loops open descriptors.
        let endpoints = configuration.webhookEndpoints(and: serverExtension?.webhookKinds ?? [])
        budget = DescriptorBudget(
            connectionsMax: server.connections, loopCount: loops,
            webhookCount: endpoints.count + (serverExtension?.descriptorCount ?? 0))
        clientLimits = SharedAddressLimits(
            AddressLimits(
                connectionsMax: server.connectionsPerIP, handshakesPerSecond: server.handshakesPerIPPerSecond))
        replayGuard = configuration.replayProtection ? Self.makeReplayGuard() : nil
        certificates = server.tls.isEmpty ? nil : try TLSCertificates(server.tls)
        wakeups = (0..<loops).map { _ in Wakeup() }
        heartbeats = (0..<loops).map { Heartbeat("loop-\($0)") }
        let webhooks = WebhookWorker(endpoints: endpoints, debounces: !configuration.cluster.isEnabled, log: log)
        self.webhooks = webhooks
        let node = configuration.cluster.isEnabled ? ClusterNode(configuration.cluster) : nil
        let rules = configuration.appRules(webhooks, serverExtension)
        self.rules = rules
        let apps = configuration.apps.map(\.id)
        let hub = SharedHub(
            wakeups: wakeups, apps: rules, webhookInbox: webhooks.inbox, refusals: ClientRefusals(apps: apps, log: log),
            cluster: node.map { SharedHub.ClusterState($0, configuration, rules) },
            localChannels: serverExtension?.localChannels ?? [], gate: serverExtension?.makeGate(rules),
            onReport: { serverExtension?.gateHasReported($0) })
        self.hub = hub
        let cluster = node.map {
            ClusterService(configuration.cluster, node: $0, apps: apps, hub: hub, log: log) {
                serverExtension?.answer($0, hub)
            }
        }
        self.cluster = cluster
        metrics = NodeMetrics(loopCount: loops, limits: Limit.ofServer + (serverExtension?.limits ?? []))
        do throws(StartError) {
            service = try serverExtension?.start(
                on: ServerParts(hub: hub, metrics: metrics, webhooks: webhooks, cluster: cluster, log: log))
        } catch {
            cluster?.stop()
            webhooks.stop(withinSeconds: 0)
            throw error
        }
        let channelQueries = ChannelQueryWorker(hub: hub, apps: apps)
        self.channelQueries = channelQueries
        let service = service
        cluster?.sources.withLock {
            $0 = ClusterService.Sources(
                figures: { service?.stats ?? [] }, connections: { channelQueries.post($0, after: $1, limit: $2, $3) })
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

    /// The applications for one loop. Each loop has its own copies, because the context of a signing key is not
    /// thread-safe.
    func makeApplications() -> [Application] {
        zip(configuration.apps, rules).enumerated().map { index, app in
            let (app, rules) = app
            return Application(
                index: index, id: app.id, key: app.key, secrets: app.secrets, isEnabled: app.enabled, isTLSOnly: app.tlsOnly,
                origins: AllowedOrigins(app.allowedOrigins), rules: rules,
                encryptionMasterKey: Base64.bytes(of: app.encryptionMasterKey) ?? [])
        }
    }

    var loopOptions: EventLoop.Options {
        let server = configuration.server
        return EventLoop.Options(
            bufferedBytesMax: server.bufferBytes / wakeups.count, outboxBytesMax: server.outgoingBytes / wakeups.count,
            certificates: certificates, proxies: TrustedProxies(server), usesProxyProtocol: server.proxyProtocol,
            clientLimits: clientLimits, headBytesMax: server.headBytes, pathPrefix: server.pathPrefix)
    }
}

extension RealtimeConfiguration {
    /// The hub's rules for each application.
    fileprivate func appRules(_ webhooks: WebhookWorker, _ serverExtension: (any ServerExtension)?) -> [AppRules] {
        apps.enumerated().map { index, app in
            var rules = AppRules()
            rules.limits = app.limits
            rules.clientEvents = app.clientEvents
            rules.subscriptionCounts = app.subscriptionCounts
            rules.webhooks = webhooks.kindsWanted(by: index)
            rules.channels = serverExtension?.channelRules(ofApp: index)
            return rules
        }
    }

    /// The webhook endpoints of all enabled apps.
    /// - Parameter kinds: those of the extension.
    fileprivate func webhookEndpoints(and kinds: [(name: String, kind: WebhookKinds)]) -> [WebhookEndpoint] {
        apps.enumerated().flatMap { index, app -> [WebhookEndpoint] in
            guard app.enabled, let secret = app.secrets.first else { return [] }
            return app.webhooks.map { webhook in
                WebhookEndpoint(
                    appIndex: index, key: app.key, secret: secret, url: webhook.url,
                    events: WebhookKinds(named: webhook.events, among: WebhookKinds.names + kinds), batch: webhook.batch,
                    allowsPrivate: webhook.allowPrivate)
            }
        }
    }
}

extension TrustedProxies {
    /// The configured proxies. If a proxy is announced but none is listed, those on this machine and in private networks:
    /// a proxy usually runs there, and from elsewhere anybody could forge the fields.
    init(_ server: RealtimeConfiguration.Server) {
        let isAnnounced = server.behindProxy || server.proxyProtocol
        switch server.trustedProxies.isEmpty {
        case true: self = isAnnounced ? .privateNetworks : .none
        case false: self.init(server.trustedProxies.compactMap(IPNetwork.init))
        }
    }
}
