import Fleet
import Realtime
import Server

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

    package typealias Server = RealtimeConfiguration.Server
    package typealias TLS = TLSFiles
    package typealias Webhook = RealtimeConfiguration.Webhook
    package typealias Cluster = RealtimeConfiguration.Cluster
    package typealias Metrics = RealtimeConfiguration.Metrics

    /// An application: what the Pusher server knows of it, whose properties this value has, too, and limits of the fleet's API.
    @dynamicMemberLookup
    package struct App: Equatable, Sendable {
        package var realtime: RealtimeConfiguration.App
        /// Limits of requests to the fleet's API, which matter in the app that carries the fleet's channels.
        package var fleetLimits = FleetLimits()

        package init(id: String, key: String, secret: String) {
            realtime = RealtimeConfiguration.App(id: id, key: key, secret: secret)
        }

        package subscript<Value>(dynamicMember path: WritableKeyPath<RealtimeConfiguration.App, Value>) -> Value {
            get { realtime[keyPath: path] }
            set { realtime[keyPath: path] = newValue }
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
