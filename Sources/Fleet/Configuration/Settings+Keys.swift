import Access
import Fleet
import Realtime
import Server

// The configuration keys. Sections with a file of their own: push, webhooks, store, cluster, accounts, otp. Each line
// states a key's name, the field that it sets, and its valid values. To add a key, add a documented field to
// `Settings` or, of the server, `RealtimeConfiguration`, a line here, and a line to config/fleetwire.yaml. The name of the key's environment variable is derived
// from the key's path.

extension Settings {
    /// Applies the values of the file and of the environment. Absent keys keep their defaults.
    mutating func read(_ root: Section) {
        root.section("server") {
            $0.text("host", into: &server.host, .host)
            $0.integer("port", into: &server.port, 0...65_535)
            $0.integer("loops", into: &server.loops, 0...64)
            $0.integer("drain_seconds", into: &server.drainSeconds, 0...300)
            $0.integer("activity_seconds", into: &server.activitySeconds, 1...3_600)
            $0.integer("watchdog_seconds", into: &server.watchdogSeconds, 0...3_600)
            $0.flag("core_dumps", into: &server.coreDumps)
            $0.integer("connections", into: &server.connections, 1...1_000_000)
            $0.integer("buffer_bytes", into: &server.bufferBytes, 16_777_216...1_099_511_627_776)
            $0.integer("outgoing_bytes", into: &server.outgoingBytes, 16_777_216...1_099_511_627_776)
            $0.integer("head_bytes", into: &server.headBytes, 4_096...65_536)
            $0.text("path_prefix", into: &server.pathPrefix, .pathPrefix)
            $0.integer("connections_per_ip", into: &server.connectionsPerIP, 0...1_000_000)
            $0.integer("handshakes_per_ip_per_second", into: &server.handshakesPerIPPerSecond, 0...100_000)
            $0.flag("behind_proxy", into: &server.behindProxy)
            $0.texts("trusted_proxies", into: &server.trustedProxies, .network, mayBeEmpty: true)
            $0.flag("proxy_protocol", into: &server.proxyProtocol)
            $0.oneOrMore("tls", into: &server.tls) { TLS($0, isOnly: $1) }
            server.tls.removeAll { $0.certificate.isEmpty }
        }
        readApps(root)
        let problemsBeforeAuth = root.reader.problems.count
        root.list("channels", into: &channels, mayBeEmpty: true) { ChannelRule($0) }
        root.section("auth") {
            $0.oneOrMore("jwt", into: &auth.jwt) { JWT($0, isOnly: $1) }
            $0.section("firebase") {
                $0.text("project_id", into: &auth.firebase.projectID, .projectID)
                $0.url("certificates_url", into: &auth.firebase.certificatesURL, .keysURL, isHidden: false)
                $0.choice("role", into: &auth.firebase.role)
                $0.text("require_claim", into: &auth.firebase.requireClaim, .claimName)
            }
            $0.section("session") {
                $0.texts("cookies", into: &auth.session.cookies, .sessionCookieName)
                $0.secrets("secret", or: "secrets", into: &auth.session.secrets, countMax: 10, .any, areRequired: false)
                auth.session.secrets.removeAll(where: \.isEmpty)
                $0.choice("scheme", into: &auth.session.scheme)
                $0.section("roles") {
                    $0.text("claim", into: &auth.session.roleClaim, .nonEmpty)
                    $0.texts("admin", into: &auth.session.adminRoles, .nonEmpty, mayBeEmpty: true)
                    $0.texts("ops", into: &auth.session.opsRoles, .nonEmpty, mayBeEmpty: true)
                }
            }
            $0.section("introspection") { auth.introspection.read($0) }
            $0.flag("replay_protection", into: &auth.replayProtection)
        }
        let areIssuersValid = root.reader.problems.count == problemsBeforeAuth
        root.section("store") { store.read($0) }
        root.section("cluster") { cluster.read($0, store, hasFleet: fleet.enabled) }
        root.section("push") { push.read($0) }
        root.section("notifications") { $0.include("file") { notifications.read($0) } }
        root.section("delivery") {
            $0.integer("confirm_seconds", into: &delivery.confirmSeconds, 1...300)
            $0.integer("backlog_hours", into: &delivery.backlogHours, 1...720)
            $0.integer("backlog_limit", into: &delivery.backlogLimit, 1...100_000)
        }
        root.section("trips") {
            $0.number("arrival_metres", into: &trips.arrivalMetres, 0...100_000)
            $0.number("arrival_kmh", into: &trips.arrivalKmh, 0...300)
            $0.integer("arrival_dwell_seconds", into: &trips.arrivalDwellSeconds, 0...600)
            $0.integer("arrival_gap_seconds", into: &trips.arrivalGapSeconds, 0...600)
            $0.number("arrival_exit_metres", into: &trips.arrivalExitMetres, 0...100_000)
            $0.integer("undo_minutes", into: &trips.undoMinutes, 0...1_440)
            $0.number("jump_kmh", into: &trips.jumpKmh, 0...3_000)
            trips.check($0)
            $0.integer("nearby_minutes", into: &trips.nearbyMinutes, 0...1_440)
            $0.integer("waiting_seconds", into: &trips.waitingSeconds, 0...86_400)
            $0.number("approaching_metres", into: &trips.approachingMetres, 0...100_000)
            $0.flag("automatic_arrival", into: &trips.automaticArrival)
            $0.number("accuracy_metres", into: &trips.accuracyMetres, 0...10_000)
            $0.integer("stale_seconds", into: &trips.staleSeconds, 0...86_400)
            $0.integer("position_hours", into: &trips.positionHours, 0...720)
            $0.number("default_speed_kmh", into: &trips.defaultSpeedKmh, 0...1_000, mayBeZero: false)
            $0.number("detour_factor", into: &trips.detourFactor, 0...100, mayBeZero: false)
        }
        root.section("accounts") { accounts.read($0) }
        root.section("otp") { otp.read($0, issuers: auth.jwt, areValid: areIssuersValid) }
        root.section("console") {
            $0.flag("enabled", into: &console.isEnabled)
            $0.url("tile_url", into: &console.tileURL, .tileURL, isHidden: false)
        }
        root.section("metrics") {
            $0.text("prefix", into: &metrics.prefix, .metricsPrefix)
            $0.secret("token", into: &metrics.token, .token)
        }
        root.section("log") {
            $0.choice("level", into: &log.level)
            $0.choice("format", into: &log.format)
        }
    }

    /// Reads the apps, and `fleet.app`, which selects one of them. If an app is invalid, `fleet.app` may be any string,
    /// because its app may be the invalid one.
    private mutating func readApps(_ root: Section) {
        let problemsBefore = root.reader.problems.count
        root.list("apps", into: &apps) { App($0) }
        let areValid = root.reader.problems.count == problemsBefore
        root.section("fleet") {
            $0.flag("enabled", into: &fleet.enabled)
            $0.text("app", into: &fleet.app, areValid ? .app(among: apps.map(\.id)) : .any)
            $0.flag("allow_open_channels", into: &fleet.allowOpenChannels)
            $0.integer("open_days", into: &fleet.openDays, 0...3_650)
        }
    }
}

extension Settings.TLS {
    /// - Parameter isOnly: whether it is the only one; both paths may then be empty, which means no TLS.
    fileprivate init(_ tls: Section, isOnly: Bool) {
        self.init(certificate: "", key: "")
        tls.files("certificate", into: &certificate, and: "key", into: &key, areRequired: !isOnly)
    }
}

extension Settings.App {
    fileprivate init(_ app: Section) {
        self.init(id: "", key: "", secret: "")  // The rules reject "", so the keys are required.
        app.text("id", into: &realtime.id, .identifier, unique: true)
        app.text("key", into: &realtime.key, .identifier, unique: true)
        app.secrets("secret", or: "secrets", into: &realtime.secrets, countMax: 10, .nonEmpty)
        app.secret("encryption_master_key", into: &realtime.encryptionMasterKey, .masterKey)
        app.flag("enabled", into: &realtime.enabled)
        app.flag("client_events", into: &realtime.clientEvents)
        app.flag("subscription_counts", into: &realtime.subscriptionCounts)
        app.flag("tls_only", into: &realtime.tlsOnly)
        app.texts("allowed_origins", into: &realtime.allowedOrigins, .origin)
        app.list("webhooks", into: &realtime.webhooks, mayBeEmpty: true, countMax: Settings.Webhook.perAppMax) {
            Settings.Webhook($0)
        }
        app.section("limits") {
            $0.integer("event_bytes", into: &realtime.limits.eventBytes, 1...1_048_576)
            $0.integer("channels_per_event", into: &realtime.limits.channelsPerEvent, 1...1_000)
            $0.integer("name_length", into: &realtime.limits.nameLength, 1...200)
            $0.integer("message_bytes", into: &realtime.limits.messageBytes, 1_024...16_777_216)
            $0.integer("outbox_bytes", into: &realtime.limits.outboxBytes, 65_536...1_073_741_824)
            $0.integer("connections", into: &realtime.limits.connections, 0...1_000_000)
            $0.choice("over_quota_close", into: &realtime.limits.overQuotaClose)
            $0.integer("subscriptions", into: &realtime.limits.subscriptions, 1...100_000)
            $0.integer("channels", into: &realtime.limits.channels, 0...10_000_000)
            $0.integer("app_subscriptions", into: &realtime.limits.appSubscriptions, 0...100_000_000)
            $0.integer("batch_events", into: &realtime.limits.batchEvents, 1...1_000)
            $0.integer("presence_members", into: &realtime.limits.presenceMembers, 1...100_000)
            $0.integer("presence_info_bytes", into: &realtime.limits.presenceInfoBytes, 0...65_536)
            $0.integer("client_events_per_second", into: &realtime.limits.clientEventsPerSecond, 1...1_000)
            $0.integer("commands_per_second", into: &realtime.limits.commandsPerSecond, 0...100_000)
            $0.integer("messages_per_second", into: &realtime.limits.messagesPerSecond, 0...100_000)
            $0.integer("auth_requests_per_second", into: &fleetLimits.authRequestsPerSecond, 0...100_000)
            $0.integer("fleet_commands_per_second", into: &fleetLimits.commandsPerSecond, 0...100_000)
            $0.integer("fleet_commands_waiting", into: &fleetLimits.commandsWaiting, 1...4_096)
            $0.integer("fleet_queries_per_second", into: &fleetLimits.queriesPerSecond, 0...100_000)
            $0.integer("fleet_queries_waiting", into: &fleetLimits.queriesWaiting, 1...4_096)
            $0.integer("cache_bytes", into: &realtime.limits.cacheBytes, 0...1_073_741_824)
            checkOutbox($0)
        }
    }
}

extension TripRules {
    /// 0 is another choice than the least value that makes sense.
    fileprivate func check(_ section: Section) {
        func report(_ key: String, _ expected: String, _ found: Double) {
            section.reader.report(
                "expected 0, or \(expected), found \(found)", at: section.reader.location(section.path(to: key), section.line))
        }
        if arrivalExitMetres > 0, arrivalExitMetres < arrivalMetres {
            report("arrival_exit_metres", "at least arrival_metres (\(arrivalMetres))", arrivalExitMetres)
        }
        if jumpKmh > 0, jumpKmh < 100 { report("jump_kmh", "a number from 100 to 3000", jumpKmh) }
    }
}

extension Settings.App {
    /// Escaped, an event is up to six times as long as its data. One above 16 times the outbox's limit would drop every
    /// subscriber; half of `event_bytes` leaves room for its name and channel.
    fileprivate func checkOutbox(_ section: Section) {
        let limits = realtime.limits
        guard limits.outboxBytes < limits.eventBytes / 2 else { return }
        section.reader.report(
            "expected at least half of event_bytes (\(limits.eventBytes)), found \(limits.outboxBytes)",
            at: section.reader.location(section.path(to: "outbox_bytes"), section.line))
    }
}

extension Settings.ChannelRule {
    fileprivate init(_ rule: Section) {
        self.init(pattern: "", access: .admin)  // Both keys are required.
        var access: ChannelPolicy.Access?
        let location = rule.text("pattern", into: &pattern, .channelPattern, unique: true)
        rule.choice("access", into: &access, isRequired: true)
        rule.flag("durable", into: &durable)
        rule.section("legacy") { legacy = Legacy($0) }
        guard let access, let location else { return }
        self.access = access
        if access.needsWildcard && !pattern.hasSuffix("*") {
            let problem = "expected a pattern that ends in * for access \(access.rawValue), found \(QuotedValue.of(pattern))"
            rule.reader.report(problem, at: location)
        }
        if durable && !access.hasOwners {
            let owners = ChannelPolicy.Access.allCases.filter(\.hasOwners).map(\.rawValue).joined(separator: ", ")
            rule.reader.report(
                "expected false for access \(access.rawValue), found true: only channels with access \(owners) have owners who "
                    + "confirm notifications",
                at: rule.reader.location(rule.path(to: "durable"), rule.line))
        }
    }
}

extension Settings.JWT {
    fileprivate init(_ jwt: Section, isOnly: Bool) {
        let problemsBefore = jwt.reader.problems.count
        jwt.choice("algorithm", into: &algorithm)
        let locations = (
            secret: jwt.secret("secret", into: &secret, .any),
            // Errors must not show the value: an operator may have set a secret under this key by mistake.
            publicKey: jwt.secret("public_key", into: &publicKey, .publicKey, .publicKey),
            jwksURL: jwt.url("jwks_url", into: &jwksURL, .keysURLOrNone, isHidden: false)
        )
        jwt.text("issuer", into: &issuer, isOnly ? .any : .issuer, unique: true)
        jwt.text("audience", into: &audience, .any)
        jwt.text("cookie", into: &cookie, .cookieName)
        guard jwt.reader.problems.count == problemsBefore, let problem = keyError(isOnly: isOnly) else { return }
        let location = [
            ("secret", locations.secret), ("public_key", locations.publicKey), ("jwks_url", locations.jwksURL),
        ]
        .first { $0.0 == problem.key }?.1
        jwt.reader.report(problem.text, at: location ?? jwt.reader.location(jwt.path, jwt.line))
    }

    /// Checks that the issuer has one key to verify tokens, of the kind that the algorithm needs: `secret` for HS256;
    /// `public_key` or `jwks_url` for RS256 and ES256. The only issuer (`isOnly`) may be without a key: then no token
    /// is accepted.
    /// - Returns: nil if the check succeeds; otherwise the problem, and the configuration key to report it at. That key
    ///   is nil if the problem concerns the issuer as a whole.
    private func keyError(isOnly: Bool) -> (key: String?, text: String)? {
        let keys = [("secret", secret), ("public_key", publicKey), ("jwks_url", jwksURL)]
            .filter { !$0.1.isEmpty }.map(\.0)
        let fitting = algorithm == .hs256 ? ["secret"] : ["public_key", "jwks_url"]
        let expected = "expected \(fitting.joined(separator: " or ")) for \(algorithm.rawValue)"
        if let wrong = keys.first(where: { !fitting.contains($0) }) { return (wrong, "\(expected), found \(wrong)") }
        if keys.count > 1 { return (keys.last, "\(expected), found both") }
        return keys.isEmpty && !isOnly ? (nil, "\(expected), found nothing") : nil
    }
}
