// Every key there is: its name, where its value goes, and what it may be. To add one, add a documented field to
// `Settings`, its line here, and its line to config/fleetwire.yaml; the environment variable follows by itself.

extension Settings {
    /// Fills in what the file and the environment say; the rest keeps its default.
    mutating func read(_ root: Section) {
        root.section("server") {
            $0.text("host", into: &server.host, .host)
            $0.integer("port", into: &server.port, 0...65_535)
            $0.integer("loops", into: &server.loops, 0...64)
            $0.integer("drain_seconds", into: &server.drainSeconds, 0...300)
            $0.integer("activity_seconds", into: &server.activitySeconds, 1...3_600)
            $0.flag("behind_proxy", into: &server.behindProxy)
            $0.section("tls") {
                $0.files("certificate", into: &server.tls.certificate, and: "key", into: &server.tls.key)
            }
        }
        root.list("apps", into: &apps) { App($0) }
        root.section("metrics") {
            $0.text("prefix", into: &metrics.prefix, .metricsPrefix)
            $0.secret("token", into: &metrics.token, .token)
        }
        root.section("log") {
            $0.choice("level", into: &log.level)
            $0.choice("format", into: &log.format)
        }
    }
}

extension Settings.App {
    fileprivate init(_ app: Section) {
        self.init(id: "", key: "", secret: "")  // which their rules refuse, so the file must give them
        app.text("id", into: &id, .identifier, unique: true)
        app.text("key", into: &key, .identifier, unique: true)
        app.secrets("secret", or: "secrets", into: &secrets, countMax: 10, .nonEmpty)
        app.flag("enabled", into: &enabled)
        app.flag("client_events", into: &clientEvents)
        app.flag("subscription_counts", into: &subscriptionCounts)
        app.flag("tls_only", into: &tlsOnly)
        app.texts("allowed_origins", into: &allowedOrigins, .origin)
        app.section("limits") {
            $0.integer("event_bytes", into: &limits.eventBytes, 1...1_048_576)
            $0.integer("channels_per_event", into: &limits.channelsPerEvent, 1...1_000)
            $0.integer("name_length", into: &limits.nameLength, 1...200)
            $0.integer("message_bytes", into: &limits.messageBytes, 1_024...16_777_216)
            $0.integer("outbox_bytes", into: &limits.outboxBytes, 65_536...1_073_741_824)
            $0.integer("connections", into: &limits.connections, 0...1_000_000)
            $0.choice("over_quota_close", into: &limits.overQuotaClose)
            $0.integer("subscriptions", into: &limits.subscriptions, 1...100_000)
            $0.integer("batch_events", into: &limits.batchEvents, 1...1_000)
            $0.integer("presence_members", into: &limits.presenceMembers, 1...100_000)
            $0.integer("presence_info_bytes", into: &limits.presenceInfoBytes, 0...65_536)
            $0.integer("client_events_per_second", into: &limits.clientEventsPerSecond, 1...1_000)
            $0.integer("cache_bytes", into: &limits.cacheBytes, 0...1_073_741_824)
        }
    }
}
