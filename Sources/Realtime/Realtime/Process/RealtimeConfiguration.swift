import PusherProtocol
import Server

/// What a Pusher server is told at its start. The default listens on loopback, port 6001, and has no app.
///
/// The caller checks the ranges that the comments name: the server checks that of the port only.
public struct RealtimeConfiguration: Equatable, Sendable {
    public var server = Server()
    /// At least one app. Two apps must not have the same id or the same key.
    public var apps: [App] = []
    /// True: a signed request of Pusher's HTTP API is accepted once.
    public var replayProtection = false
    public var cluster = Cluster()
    public var metrics = Metrics()

    public init() {}

    public typealias TLS = TLSFiles
    public typealias Limits = PusherProtocol.Limits

    /// The listening socket, the event loops, time limits and TLS.
    public struct Server: Equatable, Sendable {
        /// The address to listen on: an IP address or a host name.
        public var host = "127.0.0.1"
        /// The TCP port to listen on (0–65,535). 0: any free port.
        public var port = 6001
        /// The number of event loops (0–64), each with its own thread. 0: one event loop per core.
        public var loops = 0
        /// The time over which clients are disconnected on shutdown, in seconds (0–300).
        public var drainSeconds = 10
        /// The seconds without a message after which a client sends a ping (1–3,600); the gateway sends the value to
        /// clients as `activity_timeout`. The gateway itself sends a ping after 1.25 times as long, and closes the
        /// connection after 1.5 times as long.
        public var activitySeconds = 120
        /// The most open connections (1–1,000,000). The gateway sets its limit of file descriptors accordingly.
        public var connections = 20_000
        /// The most bytes of incomplete requests and messages that are buffered, over all connections
        /// (16 MiB–1 TiB).
        public var bufferBytes = 268_435_456
        /// The most bytes that wait for clients that take them slowly: events, and responses to requests, over all
        /// connections (16 MiB–1 TiB). It is divided among the loops, and a loop's share bounds each outbox, too.
        public var outgoingBytes = 268_435_456
        /// The largest head of a request in bytes: request line and header fields (4,096–65,536).
        public var headBytes = 16_384
        /// The path below which a proxy serves the gateway, such as `/ws`; empty: none. It is removed from the paths of
        /// requests, and signatures of requests count with it and without it.
        public var pathPrefix = ""
        /// The most open connections of one address (0–1,000,000); the addresses of an IPv6 /64 count as one. 0: no
        /// limit.
        public var connectionsPerIP = 0
        /// The most new connections of one address per second (0–100,000). 0: no limit.
        public var handshakesPerIPPerSecond = 0
        /// The seconds after which a loop or another needed thread that makes no progress makes the process abort
        /// (0–3,600), so that its supervisor restarts it. 0: never.
        public var watchdogSeconds = 30
        /// True: a process that crashes or aborts may leave a core file, which has the secrets and what people sent.
        public var coreDumps = false
        /// True: a reverse proxy terminates TLS. Its header fields (`X-Forwarded-For`, `X-Forwarded-Proto` or
        /// `Forwarded`) are trusted: see ``trustedProxies``.
        public var behindProxy = false
        /// The addresses and networks of proxies whose statements about their clients are trusted, such as `10.0.0.0/8`.
        /// Empty: with ``behindProxy`` or ``proxyProtocol`` loopback and private networks, otherwise none.
        public var trustedProxies: [String] = []
        /// True: a load balancer begins each connection with a header of the PROXY protocol, version 2.
        public var proxyProtocol = false
        /// The certificates of the listener. The handshake selects one by the host name that the client asks for. Empty:
        /// connections without TLS.
        public var tls: [TLSFiles] = []

        public init() {}
    }

    /// An application: its credentials, features and limits.
    public struct App: Equatable, Sendable {
        /// The app's name in REST paths: 1–64 letters, digits, `_` or `-`.
        public var id: String
        /// The app's name in WebSocket paths: 1–64 letters, digits, `_` or `-`. It is public.
        public var key: String
        /// Secrets that sign REST requests and channel subscriptions: 1–10 non-empty strings. The gateway signs with
        /// the first secret and accepts signatures by any of them, so that a secret can be replaced without downtime.
        public var secrets: [String]
        /// False: all connections and requests for the app are rejected.
        public var enabled = true
        /// The key from which the keys of `private-encrypted-` channels are derived: 32 bytes in base64. Empty: the
        /// gateway does not sign subscriptions to these channels; only the app's backend can sign them.
        public var encryptionMasterKey = ""
        /// True: clients may send events to each other.
        public var clientEvents = false
        /// True: subscribers receive the channel's subscription count.
        public var subscriptionCounts = false
        /// True: connections without TLS are rejected.
        public var tlsOnly = false
        /// The origins of web pages that may connect, at least one: `*` for every origin, `scheme://host[:port]`, where the host
        /// may begin with `*.`, or `file://`.
        public var allowedOrigins = ["*"]
        /// Limits of connections, channels and events.
        public var limits = Limits()
        /// The app's webhooks, at most ``Webhook/perAppMax``.
        public var webhooks: [Webhook] = []

        public init(id: String, key: String, secret: String) {
            self.id = id
            self.key = key
            secrets = [secret]
        }
    }

    /// A URL to which an app's webhooks are sent.
    public struct Webhook: Equatable, Sendable {
        /// An http or https URL without user info and fragment. Errors do not show it, because its path or query may
        /// contain a password.
        public var url: String
        /// The names of the events to send, as Pusher's documentation has them. Empty: all events.
        public var events: [String] = []
        /// True: events in quick succession are sent in one request.
        public var batch = false
        /// True: `url` may resolve to an address of a private network. False: the request is not sent to such an
        /// address.
        public var allowPrivate = false

        public init(url: String) { self.url = url }

        /// The most webhooks of one app. It is small, because one client event can cause a request to each of them.
        public static let perAppMax = 10
    }

    /// The cluster that this gateway is a node of.
    public struct Cluster: Equatable, Sendable {
        /// The URLs of the NATS servers, `nats://host:port` or `tls://host:port`; empty: the gateway is alone.
        public var nats: [String] = []
        /// Clusters with different names share nothing. 1–64 letters, digits, `_` or `-`.
        public var name = "fleetwire"
        /// The node's name, which no other node may have: 1–64 letters, digits, `_` or `-`. Empty: made at the start.
        public var node = ""
        /// How the gateway signs in to NATS; empty: not.
        public var user = ""
        public var password = ""
        public var token = ""
        /// The paths of a credentials file of NATS, and of the certificates that the servers' ones are checked against. Empty:
        /// none, and those of the system.
        public var credentialsFile = ""
        public var caFile = ""
        /// True: production permits NATS servers on other machines without TLS or sign-in.
        public var allowPlain = false
        /// Seconds between two heartbeats (1–60). A node that has missed three is considered dead.
        public var heartbeatSeconds = 2
        public var onPartition = OnPartition.refuse

        public init() {}

        /// Whether this gateway is a node of a cluster.
        public var isEnabled: Bool { !nats.isEmpty }

        /// What a backend's publish gets while NATS is away.
        public enum OnPartition: String, CaseIterable, Sendable {
            /// 503: nobody gets the event.
            case refuse
            /// 200: the clients of this node get it.
            case serve
        }
    }

    /// The `/metrics` endpoint.
    public struct Metrics: Equatable, Sendable {
        /// The prefix of all metric names: `[a-z_][a-z0-9_]*`.
        public var prefix = "fleetwire"
        /// The bearer token for `/metrics`: printable ASCII without spaces. If it is empty, requests from loopback need
        /// no token.
        public var token = ""

        public init() {}
    }
}
