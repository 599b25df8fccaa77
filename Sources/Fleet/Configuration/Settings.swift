import Fleet
import PusherProtocol

/// The configuration as one value: read and checked at start, and again on SIGHUP.
///
/// `Settings()` is the development default: loopback, port 6001, one app with well-known credentials.
/// `Settings+Keys.swift` maps keys to these fields.
package struct Settings: Equatable, Sendable {
    package var server = Server()
    /// At least one app. Two apps must not have the same id or the same key.
    package var apps = [App(id: "1001", key: "key1", secret: "secret1")]
    package var fleet = Fleet()
    /// Access to the channels of the fleet's app. The first rule that matches a channel decides. If the list is empty,
    /// no channel is restricted.
    package var channels = ChannelRule.defaults
    package var auth = Auth()
    package var delivery = Delivery()
    package var trips = TripRules()
    /// Drivers' accounts.
    package var accounts = Accounts()
    /// Sign-in of customers by code.
    package var otp = OTP()
    package var store = Store()
    package var cluster = Cluster()
    package var push = Push()
    /// Texts and push options of notifications.
    package var notifications = NotificationCatalogue.builtIn
    package var console = Console()
    package var metrics = Metrics()
    package var log = Log()

    package init() {}

    /// The listening socket, the event loops, time limits and TLS.
    package struct Server: Equatable, Sendable {
        /// The address to listen on: an IP address or a host name.
        package var host = "127.0.0.1"
        /// The TCP port to listen on (0–65,535). 0: any free port.
        package var port = 6001
        /// The number of event loops (0–64), each with its own thread. 0: one event loop per core.
        package var loops = 0
        /// The time over which clients are disconnected on shutdown, in seconds (0–300).
        package var drainSeconds = 10
        /// The seconds without a message after which a client sends a ping (1–3,600); the gateway sends the value to
        /// clients as `activity_timeout`. The gateway itself sends a ping after 1.25 times as long, and closes the
        /// connection after 1.5 times as long.
        package var activitySeconds = 120
        /// The most open connections (1–1,000,000). The gateway sets its limit of file descriptors accordingly.
        package var connections = 20_000
        /// The most bytes of incomplete requests and messages that are buffered, over all connections
        /// (16 MiB–1 TiB).
        package var bufferBytes = 268_435_456
        /// The most bytes that wait for clients that take them slowly: events, and responses to requests, over all
        /// connections (16 MiB–1 TiB). It is divided among the loops, and a loop's share bounds each outbox, too.
        package var outgoingBytes = 268_435_456
        /// The largest head of a request in bytes: request line and header fields (4,096–65,536).
        package var headBytes = 16_384
        /// The path below which a proxy serves the gateway, such as `/ws`; empty: none. It is removed from the paths of
        /// requests, and signatures of requests count with it and without it.
        package var pathPrefix = ""
        /// The most open connections of one address (0–1,000,000); the addresses of an IPv6 /64 count as one. 0: no
        /// limit.
        package var connectionsPerIP = 0
        /// The most new connections of one address per second (0–100,000). 0: no limit.
        package var handshakesPerIPPerSecond = 0
        /// The seconds after which a loop or store writer that makes no progress makes the process abort (0–3,600), so
        /// that its supervisor restarts it. 0: never.
        package var watchdogSeconds = 30
        /// True: a process that crashes or aborts may leave a core file, which has the secrets and what people sent.
        package var coreDumps = false
        /// True: a reverse proxy terminates TLS. Its header fields (`X-Forwarded-For`, `X-Forwarded-Proto` or
        /// `Forwarded`) are trusted: see ``trustedProxies``.
        package var behindProxy = false
        /// The addresses and networks of proxies whose statements about their clients are trusted, such as `10.0.0.0/8`.
        /// Empty: with ``behindProxy`` or ``proxyProtocol`` loopback and private networks, otherwise none.
        package var trustedProxies: [String] = []
        /// True: a load balancer begins each connection with a header of the PROXY protocol, version 2.
        package var proxyProtocol = false
        /// The certificates of the listener. The handshake selects one by the host name that the client asks for. Empty:
        /// connections without TLS.
        package var tls: [TLS] = []

        package init() {}
    }

    /// A certificate of the TLS listener and its private key.
    package struct TLS: Equatable, Sendable {
        /// The path of a PEM file with the certificate chain.
        package var certificate: String
        /// The path of a PEM file with the certificate's private key.
        package var key: String

        package init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// An application: its credentials, features and limits.
    package struct App: Equatable, Sendable {
        /// The app's name in REST paths: 1–64 letters, digits, `_` or `-`.
        package var id: String
        /// The app's name in WebSocket paths: 1–64 letters, digits, `_` or `-`. It is public.
        package var key: String
        /// Secrets that sign REST requests and channel subscriptions: 1–10 non-empty strings. The gateway signs with
        /// the first secret and accepts signatures by any of them, so that a secret can be replaced without downtime.
        package var secrets: [String]
        /// False: all connections and requests for the app are rejected.
        package var enabled = true
        /// The key from which the keys of `private-encrypted-` channels are derived: 32 bytes in base64. Empty: the
        /// gateway does not sign subscriptions to these channels; only the app's backend can sign them.
        package var encryptionMasterKey = ""
        /// True: clients may send events to each other.
        package var clientEvents = false
        /// True: subscribers receive the channel's subscription count.
        package var subscriptionCounts = false
        /// True: connections without TLS are rejected.
        package var tlsOnly = false
        /// The origins of web pages that may connect, at least one: `*` for every origin, `scheme://host[:port]`, where the host
        /// may begin with `*.`, or `file://`.
        package var allowedOrigins = ["*"]
        /// Limits of connections, channels and events.
        package var limits = Limits()
        /// Limits of requests to the fleet's API, which matter in the app that carries the fleet's channels.
        package var fleetLimits = FleetLimits()
        /// The app's webhooks, at most ``Webhook/perAppMax``.
        package var webhooks: [Webhook] = []

        package init(id: String, key: String, secret: String) {
            self.id = id
            self.key = key
            secrets = [secret]
        }
    }

    /// The database.
    package struct Store: Equatable, Sendable {
        /// The path of the SQLite file, which is created if it is missing. A relative path in the configuration file
        /// starts from that file's directory.
        package var path = "var/fleetwire.db"
        /// The connection URI of a PostgreSQL database, which is used instead of the file; empty: the file is used.
        package var url = ""
        /// The number of connections to a PostgreSQL database that read (1–64). A file needs none.
        package var pool = 4
        package var durability = Durability.full
        /// Days after which the store deletes notifications, audit entries, and ended orders and routes (1–3,650).
        package var retentionDays = 30
        /// Keys that encrypt stored device tokens. The gateway encrypts with the first key and decrypts with any of
        /// them, so that a key can be replaced without losing tokens. Two keys must not have the same id.
        package var encryptionKeys: [EncryptionKey] = []

        package init() {}

        /// A key, and the id that is stored with the values it encrypts.
        package struct EncryptionKey: Equatable, Sendable {
            /// 1–64 letters, digits, `_` or `-`.
            package var id: String
            /// 32 bytes in base64.
            package var key: String

            package init(id: String, key: String) {
                self.id = id
                self.key = key
            }
        }

        /// Which commits survive a power failure.
        package enum Durability: String, CaseIterable, Sendable {
            /// All commits survive.
            case full
            /// Commits up to the last checkpoint of SQLite's write-ahead log survive. Faster, because a commit does not
            /// wait for the disk.
            case normal
        }
    }

    /// The operators' page at `/console`.
    package struct Console: Equatable, Sendable {
        /// False: its paths are 404.
        package var isEnabled = true
        /// The URL of the map's tiles, with `{z}`, `{x}` and `{y}` (Web Mercator). Empty: the map shows none. The browsers
        /// of operators ask it for the places that they look at.
        package var tileURL = ""

        package init() {}
    }

    /// The `/metrics` endpoint.
    package struct Metrics: Equatable, Sendable {
        /// The prefix of all metric names: `[a-z_][a-z0-9_]*`.
        package var prefix = "fleetwire"
        /// The bearer token for `/metrics`: printable ASCII without spaces. If it is empty, requests from loopback need
        /// no token. A JWT of role admin or ops is always accepted instead.
        package var token = ""

        package init() {}
    }

    /// The log on standard error.
    package struct Log: Equatable, Sendable {
        /// Records below this level are not written.
        package var level = Level.info
        package var format = Format.json

        package init() {}

        /// Severities, lowest first.
        package enum Level: String, CaseIterable, Sendable {
            case debug, info, warning, error
        }

        /// One JSON object per line, or plain text for terminals.
        package enum Format: String, CaseIterable, Sendable {
            case json, text
        }
    }
}
