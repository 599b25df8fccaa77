import Realtime

extension Settings.Cluster {
    mutating func read(_ section: Section, _ store: Settings.Store, hasFleet: Bool) {
        let location = section.reader.location("cluster.nats", section.line)
        section.texts("nats", into: &nats, .natsURL, mayBeEmpty: true, areSecret: true)
        section.text("name", into: &name, .identifier)
        section.text("node", into: &node, .identifierOrNone)
        section.text("user", into: &user, .any)
        section.secret("password", into: &password, .any)
        section.secret("token", into: &token, .any)
        var content = ""
        section.file("credentials_file", into: &credentialsFile, content: &content, isUsed: isEnabled, isSecret: true)
        section.file("ca_file", into: &caFile, content: &content, isUsed: isEnabled)
        section.flag("allow_plain", into: &allowPlain)
        section.integer("heartbeat_seconds", into: &heartbeatSeconds, 1...60)
        section.choice("on_partition", into: &onPartition)
        guard isEnabled else { return }
        if !hasFleet {
            section.reader.report(
                "several nodes need the fleet's store: expected fleet.enabled: true, or no servers", at: location)
        } else if store.url.isEmpty {
            section.reader.report("several nodes need store.url", at: location)
        }
    }
}

extension StringRule {
    /// Passwords have keys of their own, so that no message shows them. A rejected URL may contain one.
    fileprivate static let natsURL = StringRule("a URL such as nats://host:4222 or tls://host:4222, without a password") { text in
        guard let scheme = ["nats://", "tls://"].first(where: text.hasPrefix) else { return false }
        let rest = text.dropFirst(scheme.count)
        return !rest.isEmpty && rest.utf8.allSatisfy { (0x21...0x7E).contains($0) } && !rest.contains("@") && !rest.contains("/")
    }

    fileprivate static let identifierOrNone = StringRule("1 to 64 letters, digits, _ or -, or \"\"") {
        $0.isEmpty || identifier.accepts($0)
    }
}
