/// What an option of another server is called here. The pages in docs/migration have the same rows, which a test compares.
package struct OptionRow: Equatable, Sendable {
    /// The other server's option.
    package let theirs: String
    /// Its default there.
    package let theirDefault: String
    /// The key here, or why there is none.
    package let ours: String

    init(_ theirs: String, _ theirDefault: String, _ ours: String) {
        (self.theirs, self.theirDefault, self.ours) = (theirs, theirDefault, ours)
    }
}

/// The options of other servers.
package enum OptionTable {
    /// Soketi 1: the defaults are those of `options` in src/server.ts of github.com/soketi/soketi (branch 1.x), the options
    /// of an app those that src/app.ts reads.
    package static let soketi = [
        OptionRow("host", "0.0.0.0", "`server.host`"),
        OptionRow("port", "6001", "`server.port`"),
        OptionRow("pathPrefix", "", "`server.path_prefix`"),
        OptionRow("ssl.certPath", "", "`server.tls.certificate`"),
        OptionRow("ssl.keyPath", "", "`server.tls.key`"),
        OptionRow("ssl.passphrase", "", "none: the key file must have no passphrase"),
        OptionRow("ssl.caPath", "", "none: client certificates are not supported"),
        OptionRow("appManager.driver", "array", "none: `apps` is the only list of apps"),
        OptionRow("appManager.array.apps[].id", "app-id", "`apps[].id`"),
        OptionRow("appManager.array.apps[].key", "app-key", "`apps[].key`"),
        OptionRow("appManager.array.apps[].secret", "app-secret", "`apps[].secret`"),
        OptionRow("appManager.array.apps[].enabled", "true", "`apps[].enabled`"),
        OptionRow("appManager.array.apps[].enableClientMessages", "false", "`apps[].client_events`"),
        OptionRow("appManager.array.apps[].enableUserAuthentication", "false", "none: `pusher:signin` is always possible"),
        OptionRow("appManager.array.apps[].maxConnections", "-1", "`apps[].limits.connections`"),
        OptionRow(
            "appManager.array.apps[].maxClientEventsPerSecond", "-1",
            "`apps[].limits.client_events_per_second`, of each connection"),
        OptionRow("appManager.array.apps[].maxBackendEventsPerSecond", "-1", "none: publishing is not limited by a rate"),
        OptionRow("appManager.array.apps[].maxReadRequestsPerSecond", "-1", "none: reading is not limited by a rate"),
        OptionRow("appManager.array.apps[].webhooks", "[]", "`apps[].webhooks`"),
        OptionRow("channelLimits.maxNameLength", "200", "`apps[].limits.name_length`"),
        OptionRow("channelLimits.cacheTtl", "3600", "none: 1800 seconds"),
        OptionRow("eventLimits.maxChannelsAtOnce", "100", "`apps[].limits.channels_per_event`"),
        OptionRow("eventLimits.maxNameLength", "200", "`apps[].limits.name_length`"),
        OptionRow("eventLimits.maxPayloadInKb", "100", "`apps[].limits.event_bytes`"),
        OptionRow("eventLimits.maxBatchSize", "10", "`apps[].limits.batch_events`"),
        OptionRow("presence.maxMembersPerChannel", "100", "`apps[].limits.presence_members`"),
        OptionRow("presence.maxMemberSizeInKb", "2", "`apps[].limits.presence_info_bytes`"),
        OptionRow("httpApi.requestLimitInMb", "100", "none: it follows from the limits of events"),
        OptionRow("cors.origin", "[\"*\"]", "`apps[].allowed_origins`, which counts for WebSockets, too"),
        OptionRow("metrics.enabled", "false", "none: `/metrics` is always there, for roles and `metrics.token`"),
        OptionRow("metrics.port", "9601", "none: `server.port`"),
        OptionRow("metrics.prometheus.prefix", "soketi_", "`metrics.prefix`; the names differ"),
        OptionRow("adapter.driver", "local", "`cluster.nats`, with `store.url`: see docs/cluster.md"),
        OptionRow("queue.driver", "sync", "none: webhooks wait in memory"),
        OptionRow("rateLimiter.driver", "local", "none: a limit counts for a connection, or for a node"),
        OptionRow("cache.driver", "memory", "none: `apps[].limits.cache_bytes` in memory"),
        OptionRow("shutdownGracePeriod", "3000", "`server.drain_seconds`"),
        OptionRow("userAuthenticationTimeout", "30000", "none: nobody is closed for not signing in"),
        OptionRow("webhooks.batching.enabled", "false", "`apps[].webhooks[].batch`"),
        OptionRow("mode", "full", "none: there is one kind of process"),
    ]

    /// Laravel Reverb: config/reverb.php of github.com/laravel/reverb (branch main), and `connections.reverb` in
    /// config/broadcasting.php of github.com/laravel/framework.
    package static let reverb = [
        OptionRow("REVERB_APP_ID", "", "`apps[].id`"),
        OptionRow("REVERB_APP_KEY", "", "`apps[].key`"),
        OptionRow("REVERB_APP_SECRET", "", "`apps[].secret`"),
        OptionRow("REVERB_SERVER_HOST", "0.0.0.0", "`server.host`"),
        OptionRow("REVERB_SERVER_PORT", "8080", "`server.port`"),
        OptionRow("REVERB_SERVER_PATH", "", "`server.path_prefix`"),
        OptionRow("REVERB_HOST", "", "none: the name that clients and the backend use; it stays, or changes there"),
        OptionRow("REVERB_PORT", "443", "none: likewise"),
        OptionRow("REVERB_SCHEME", "https", "none: likewise"),
        OptionRow("REVERB_MAX_REQUEST_SIZE", "10000", "none: it follows from the limits of events"),
        OptionRow("REVERB_SCALING_ENABLED", "false", "`cluster.nats`, with `store.url`: see docs/cluster.md"),
        OptionRow("REVERB_APP_PING_INTERVAL", "60", "none: the gateway pings at 1.25 times `server.activity_seconds`"),
        OptionRow("REVERB_APP_ACTIVITY_TIMEOUT", "30", "`server.activity_seconds`"),
        OptionRow("REVERB_APP_MAX_CONNECTIONS", "", "`apps[].limits.connections`"),
        OptionRow("REVERB_APP_MAX_MESSAGE_SIZE", "10000", "`apps[].limits.message_bytes`"),
        OptionRow(
            "REVERB_APP_ACCEPT_CLIENT_EVENTS_FROM", "members",
            "`apps[].client_events`: `members` is true, `none` false; `all` is not possible"),
        OptionRow("REVERB_APP_RATE_LIMITING_ENABLED", "false", "`apps[].limits.messages_per_second`, which is on"),
        OptionRow("REVERB_PULSE_INGEST_INTERVAL", "15", "none: see docs/monitoring.md"),
        OptionRow("REVERB_TELESCOPE_INGEST_INTERVAL", "15", "none: see docs/monitoring.md"),
    ]

    /// Laravel WebSockets 2: config/websockets.php of github.com/beyondcode/laravel-websockets (branch 2.x).
    package static let laravelWebSockets = [
        OptionRow("PUSHER_APP_ID", "", "`apps[].id`"),
        OptionRow("PUSHER_APP_KEY", "", "`apps[].key`"),
        OptionRow("PUSHER_APP_SECRET", "", "`apps[].secret`"),
        OptionRow("PUSHER_APP_PATH", "", "`server.path_prefix`"),
        OptionRow("LARAVEL_WEBSOCKETS_PORT", "6001", "`server.port`"),
        OptionRow("LARAVEL_WEBSOCKETS_PATH", "laravel-websockets", "none: the page for operators is `/console/`"),
        OptionRow("LARAVEL_WEBSOCKETS_SSL_LOCAL_CERT", "", "`server.tls.certificate`"),
        OptionRow("LARAVEL_WEBSOCKETS_SSL_LOCAL_PK", "", "`server.tls.key`"),
        OptionRow("LARAVEL_WEBSOCKETS_SSL_PASSPHRASE", "", "none: the key file must have no passphrase"),
        OptionRow("WEBSOCKETS_REPLICATION_MODE", "local", "`cluster.nats`, with `store.url`: see docs/cluster.md"),
        OptionRow("capacity", "null", "`apps[].limits.connections`"),
        OptionRow("enable_client_messages", "false", "`apps[].client_events`"),
        OptionRow("allowed_origins", "[]", "`apps[].allowed_origins`, with the scheme: `https://app.example.com`"),
        OptionRow("enable_statistics", "true", "none: see docs/monitoring.md"),
        OptionRow("max_request_size_in_kb", "250", "none: it follows from the limits of events"),
    ]

    /// The hosted Pusher Channels: `connections.pusher` in config/broadcasting.php of github.com/laravel/framework.
    package static let pusher = [
        OptionRow("PUSHER_APP_ID", "", "`apps[].id`"),
        OptionRow("PUSHER_APP_KEY", "", "`apps[].key`"),
        OptionRow("PUSHER_APP_SECRET", "", "`apps[].secret`"),
        OptionRow("PUSHER_APP_CLUSTER", "mt1", "none: set host and port in apps and backends instead"),
        OptionRow("PUSHER_HOST", "api-{cluster}.pusher.com", "none: where this gateway is reached"),
        OptionRow("PUSHER_PORT", "443", "none: where this gateway is reached"),
        OptionRow("PUSHER_SCHEME", "https", "none: where this gateway is reached"),
    ]

    /// Ably's Pusher adapter, as https://ably.com/docs/protocols/pusher describes it: `ABLY_KEY` is `appid.keyid:secret`.
    package static let ably = [
        OptionRow("ABLY_KEY", "", "`apps[].id`, `apps[].key` and `apps[].secret`, without the dot")
    ]
}
