import FleetRules
import PusherProtocol

/// Everything an operator decides, as one plain value: read and checked once at start, then passed around.
///
/// `Settings()` is the development default: loopback, port 6001, one app with well-known credentials.
/// A key exists only once something honours it; `Settings+Keys.swift` maps keys to these fields.
package struct Settings: Equatable, Sendable {
    /// Where the gateway listens, and how it stops.
    package var server = Server()
    /// Who may use the gateway: at least one app, with distinct ids and keys.
    package var apps = [App(id: "1001", key: "key1", secret: "secret1")]
    /// Which app carries the fleet channels.
    package var fleet = Fleet()
    /// Who may subscribe to the channels of the fleet's app: the first whose pattern matches decides, none restricts nobody.
    package var channels = ChannelRule.contract
    /// Whose tokens say who somebody is.
    package var auth = Auth()
    /// Where state survives a restart.
    package var store = Store()
    /// How notifications reach phones as well.
    package var push = Push()
    /// What phones show for each event.
    package var notifications = NotificationCatalogue.builtIn
    /// What Prometheus reads.
    package var metrics = Metrics()
    /// What is logged, and how.
    package var log = Log()

    package init() {}

    /// Where the gateway listens, and how it stops.
    package struct Server: Equatable, Sendable {
        /// The address to listen on: an IP address or a host name.
        package var host = "127.0.0.1"
        /// The TCP port to listen on (0–65,535). 0: any free port.
        package var port = 6001
        /// Event loops, a thread each (0–64). 0: one per core.
        package var loops = 0
        /// Seconds over which a stopping gateway lets its connections go (0–300).
        package var drainSeconds = 10
        /// Seconds of silence after which clients ping (1–3,600), advertised to them as `activity_timeout`. The server
        /// asks after a quarter more, and gives up after another quarter.
        package var activitySeconds = 120
        /// True: a proxy in front terminates TLS, and its `X-Forwarded-Proto` is believed.
        package var behindProxy = false
        /// What the gateway serves TLS with, if it does.
        package var tls = TLS()

        package init() {}
    }

    /// A certificate and its key: both, or neither for plain connections.
    package struct TLS: Equatable, Sendable {
        /// The path of a PEM file with the certificate chain, or empty.
        package var certificate = ""
        /// The path of a PEM file with the certificate's private key, or empty.
        package var key = ""

        package var isEnabled: Bool { !certificate.isEmpty }

        package init() {}
    }

    /// One application: the credentials its clients and backends present, and what it may ask for.
    package struct App: Equatable, Sendable {
        /// Names the app in REST paths: 1–64 letters, digits, `_` or `-`, and no other app's.
        package var id: String
        /// Names the app to its clients: 1–64 letters, digits, `_` or `-`, and no other app's.
        package var key: String
        /// Sign REST requests and channel grants: 1–10 texts that are not empty. The first signs, all verify, so that one
        /// can be replaced without a gap.
        package var secrets: [String]
        /// False: the app stays configured, and everybody who asks for it is refused.
        package var enabled = true
        /// Of which the keys of its `private-encrypted-` channels are derived: 32 bytes in base64. Empty: its backends keep
        /// that to themselves, and the gateway signs for none of these channels.
        package var encryptionMasterKey = ""
        /// True: clients may send events to each other.
        package var clientEvents = false
        /// True: subscribers hear how many they are.
        package var subscriptionCounts = false
        /// True: who comes without TLS is refused.
        package var tlsOnly = false
        /// The web pages that may connect, at least one: `*` for all, or `scheme://host[:port]`, where the host may begin
        /// with `*.`.
        package var allowedOrigins = ["*"]
        /// Bounds on what the app may ask for, each with its unit and range.
        package var limits = Limits()
        /// Where its backend hears what happens: at most ``Webhook/perAppMax``.
        package var webhooks: [Webhook] = []

        package init(id: String, key: String, secret: String) {
            self.id = id
            self.key = key
            secrets = [secret]
        }
    }

    /// Where state survives a restart.
    package struct Store: Equatable, Sendable {
        /// The path of the database, which is made where it is missing. Relative ones in a file start from its directory.
        package var path = "var/fleetwire.db"
        /// What a power cut may take.
        package var durability = Durability.full
        /// Days after which what is over is forgotten (1–3,650).
        package var retentionDays = 30
        /// What device tokens are encrypted with, no two of one id: the first encrypts, all decrypt, so that one can be
        /// replaced without a loss.
        package var encryptionKeys: [EncryptionKey] = []

        package init() {}

        /// A key, and the name that what it encrypts is marked with.
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

        /// What a power cut may take: nothing that was answered, or the last moments.
        package enum Durability: String, CaseIterable, Sendable {
            case full, normal
        }
    }

    /// What Prometheus reads.
    package struct Metrics: Equatable, Sendable {
        /// The first word of every metric's name: `[a-z_][a-z0-9_]*`.
        package var prefix = "fleetwire"
        /// The bearer token that opens the metrics: printable ASCII without spaces. Empty: loopback only, no token.
        package var token = ""

        package init() {}
    }

    /// What is logged, and how.
    package struct Log: Equatable, Sendable {
        /// The least severe level that is written.
        package var level = Level.info
        /// How a line is written.
        package var format = Format.json

        package init() {}

        /// How much a line matters, least first.
        package enum Level: String, CaseIterable, Sendable {
            case debug, info, warning, error
        }

        /// How a line is written: an object for machines, or words for a terminal.
        package enum Format: String, CaseIterable, Sendable {
            case json, text
        }
    }
}
