import FleetRules

extension Settings {
    /// How notifications reach phones as well.
    package struct Push: Equatable, Sendable {
        /// What is pushed of an event whose entry in the catalogue does not say.
        package var mode = NotificationCatalogue.PushMode.mirror
        /// Apple's service, for phones with its tokens.
        package var apns = APNs()
        /// Google's service, for all others.
        package var fcm = FCM()
        /// Days without a word from an app after which nothing is sent to its phone any more (1–3,650). Tokens of Android
        /// expire after as many as the default (firebase.google.com/docs/cloud-messaging/manage-tokens).
        package var staleDays = 270

        package init() {}
    }

    /// Apple's push service, and as whom the gateway speaks to it. A disabled one may lack everything else, and none of its
    /// files is read.
    package struct APNs: Equatable, Sendable {
        /// False: nothing is sent to tokens of Apple's.
        package var enabled = false
        /// Where production's tokens are served: a host name.
        package var host = "api.push.apple.com"
        /// Where the tokens of apps under development are served: a host name.
        package var sandboxHost = "api.sandbox.push.apple.com"
        /// The TCP port of `host` (1–65,535): 443, or 2197 where a firewall has it so.
        package var port = 443
        /// The TCP port of `sandboxHost` (1–65,535); a file that says 0 or nothing means that of `host`.
        package var sandboxPort = 443
        /// Whose key it is: 10 of A–Z and 0–9.
        package var teamID = ""
        /// Which key it is: 10 of A–Z and 0–9.
        package var keyID = ""
        /// The path of the key's file.
        package var keyFile = ""
        /// What that file held when the configuration was read: the PEM text of a private key.
        package var key = ""
        /// The app's bundle id: 1–255 letters, digits, `.`, `-` or `_`.
        package var topic = ""
        /// The path of a PEM file with the authorities to trust instead of the system's; empty: the system's.
        package var caFile = ""
        /// What that file held when the configuration was read.
        package var authorities = ""

        package init() {}
    }

    /// Google's push service, and as whom the gateway speaks to it. A disabled one may lack everything else, and none of its
    /// files is read.
    package struct FCM: Equatable, Sendable {
        /// False: nothing is sent to tokens of Google's.
        package var enabled = false
        /// The path of the service account's file.
        package var serviceAccountFile = ""
        /// What that file held when the configuration was read: a JSON object.
        package var serviceAccount = ""
        /// Where messages go: `https://host[:port]`, without a path. Where access tokens come from, the service account says.
        package var baseURL = "https://fcm.googleapis.com"
        /// The path of a PEM file with the authorities to trust instead of the system's; empty: the system's.
        package var caFile = ""
        /// What that file held when the configuration was read.
        package var authorities = ""

        package init() {}
    }
}

// MARK: Reading

extension Settings.Push {
    mutating func read(_ push: Section) {
        push.choice("mode", into: &mode)
        push.section("apns") { apns.read($0) }
        push.section("fcm") { fcm.read($0) }
        push.integer("stale_days", into: &staleDays, 1...3_650)
    }
}

extension Settings.APNs {
    fileprivate mutating func read(_ apns: Section) {
        apns.flag("enabled", into: &enabled)
        apns.text("host", into: &host, .host)
        apns.text("sandbox_host", into: &sandboxHost, .host)
        apns.integer("port", into: &port, 1...65_535)
        sandboxPort = 0
        apns.integer("sandbox_port", into: &sandboxPort, 0...65_535)
        if sandboxPort == 0 { sandboxPort = port }
        apns.text("team_id", into: &teamID, enabled ? .appleIdentifier : .appleIdentifierOrNone)
        apns.text("key_id", into: &keyID, enabled ? .appleIdentifier : .appleIdentifierOrNone)
        apns.file("key_file", into: &keyFile, holding: .privateKey, into: &key, isUsed: enabled)
        apns.text("topic", into: &topic, enabled ? .bundleID : .bundleIDOrNone)
        apns.file("ca_file", into: &caFile, content: &authorities, isUsed: enabled)
    }
}

extension Settings.FCM {
    fileprivate mutating func read(_ fcm: Section) {
        fcm.flag("enabled", into: &enabled)
        fcm.file(
            "service_account_file", into: &serviceAccountFile, holding: .serviceAccount, into: &serviceAccount, isUsed: enabled)
        fcm.text("base_url", into: &baseURL, .baseURL)
        fcm.file("ca_file", into: &caFile, content: &authorities, isUsed: enabled)
    }
}
