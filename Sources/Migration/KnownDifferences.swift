/// What behaves otherwise here than at another server, for apps and backends. docs/migration has a page for each server.
enum KnownDifferences {
    /// Of all servers that are not Pusher itself.
    private static let ofTheProtocol = [
        "client events (whispers) go to private- and presence- channels only; elsewhere they get pusher:error",
        "a connection needs ?protocol= with 5, 6 or 7, as all Pusher SDKs send it; without it, it is closed with 4008",
        "data of a published event must be a string, as all Pusher server SDKs send it; else 400",
    ]

    /// Soketi 1: `handleClientEvent` in src/ws-handler.ts sends client events to any channel whose member the sender is; the
    /// handshake there reads no protocol number; src/http-handler.ts answers `GET channels` with `subscription_count` and
    /// `occupied` whether `info` asks for them or not; src/server.ts has the paths of health checks.
    static let soketi =
        ofTheProtocol + [
            "GET channels and channels/{name} have subscription_count and user_count only if info asks for them",
            "health: GET / and /ready become /healthz and /readyz; /usage and /accept-traffic do not exist",
            "metrics: /metrics on the gateway's own port, with other names",
            "webhooks: headers, filter and lambda do not exist; one request per event, or with batch: true one a second",
            "a client's ping is answered, and silence ends a connection after 1.5 times server.activity_seconds",
        ]

    /// Reverb: src/Protocols/Pusher/ClientEvent.php accepts client events on any channel; src/Servers/Reverb/Factory.php has
    /// the paths; Concerns/InteractsWithChannelInformation.php leaves out what `info` asks for in vain.
    static let reverb =
        ofTheProtocol + [
            "GET /apps/{id}/connections does not exist: GET /api/ops/stats has the number of connections",
            "info=user_count gets 400 for other channels than presence channels, where Reverb leaves it out",
            "health: GET /up becomes /healthz and /readyz",
            "an invalid event gets 400 with a line of text, where Reverb answers 422 with JSON",
            "allowed_origins are origins with their scheme, such as https://app.example.com, where Reverb has patterns of hosts",
            "Reverb sends no webhooks; the gateway can",
        ]

    /// Laravel WebSockets: src/Server/Messages/PusherClientMessage.php accepts client events on any channel, also of those who
    /// have not joined it; src/Server/Router.php has the paths; `verifyOrigin` in src/Server/WebSocketHandler.php compares
    /// hosts.
    static let laravelWebSockets =
        ofTheProtocol + [
            "a client event of a connection that has not joined the channel gets pusher:error",
            "health: GET /health becomes /healthz and /readyz",
            "allowed_origins are origins with their scheme, such as https://app.example.com, where the package has hosts",
            "the statistics and the page of the package become /metrics and /console/",
        ]

    /// Of hosted services.
    private static let ofServices = [
        "set host, port and TLS in apps and backends instead of cluster",
        "only WebSockets are served: no SockJS or other fallbacks over HTTP, and no statistics (disableStats)",
        "POST channels/{name}/events and GET channels/{name}/stats, which Pusher calls deprecated, do not exist",
    ]

    /// The hosted Pusher Channels.
    static let pusher =
        ofServices + [
            "close code over the quota of connections: 4100 (over_quota_close), where Pusher has 4004",
            "Beams (push) has an API of its own: see docs/push.md",
        ]

    /// https://ably.com/docs/protocols/pusher: the adapter's features.
    static let ably =
        ofServices + [
            "channels have their Pusher names, without Ably's namespaces public:, private: and presence:",
            "what needs an Ably SDK (history, rewind, deltas, connection state recovery) is not there for Pusher clients either",
        ]
}
