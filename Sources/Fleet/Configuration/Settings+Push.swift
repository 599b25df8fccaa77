import Fleet

extension Settings {
    /// Push notifications to devices.
    package struct Push: Equatable, Sendable {
        /// The push mode of catalogue entries that do not set `push`.
        package var mode = NotificationCatalogue.PushMode.mirror
        package var apns = APNs()
        package var fcm = FCM()
        /// Days since a device last registered (1–3,650). After this time the device gets no more pushes. The default
        /// is that of FCM, which expires a token after 270 days of inactivity
        /// (firebase.google.com/docs/cloud-messaging/manage-tokens).
        package var staleDays = 270

        package init() {}
    }

    /// Apple Push Notification service. While it is disabled, no other key is required, and none of the files is read.
    package struct APNs: Equatable, Sendable {
        /// False: nothing is sent to APNs tokens.
        package var enabled = false
        /// The host for production tokens.
        package var host = "api.push.apple.com"
        /// The host for tokens of development builds.
        package var sandboxHost = "api.sandbox.push.apple.com"
        /// The TCP port of `host` (1–65,535): 443, or 2197 if a firewall blocks 443.
        package var port = 443
        /// The TCP port of `sandboxHost` (1–65,535). If the configuration sets 0 or nothing, this is the port of
        /// `host`.
        package var sandboxPort = 443
        /// The id of the Apple developer team: 10 characters of A–Z and 0–9.
        package var teamID = ""
        /// The id of the signing key: 10 characters of A–Z and 0–9.
        package var keyID = ""
        /// The path of the signing key's file.
        package var keyFile = ""
        /// The content of `keyFile` when the configuration was read: a private key in PEM.
        package var key = ""
        /// The topic of all pushes, which is the app's bundle id: 1–255 letters, digits, `.`, `-` or `_`.
        package var topic = ""
        /// The path of a PEM file with the CA certificates to trust. Empty: the system's certificates.
        package var caFile = ""
        /// The content of `caFile` when the configuration was read.
        package var authorities = ""

        package init() {}
    }

    /// Firebase Cloud Messaging. While it is disabled, no other key is required, and none of the files is read.
    package struct FCM: Equatable, Sendable {
        /// False: nothing is sent to FCM tokens.
        package var enabled = false
        /// The path of the service account's file.
        package var serviceAccountFile = ""
        /// The content of `serviceAccountFile` when the configuration was read: a JSON object. Its `token_uri` is the
        /// URL that issues access tokens.
        package var serviceAccount = ""
        /// The server that messages are sent to: `https://host[:port]`, without a path.
        package var baseURL = "https://fcm.googleapis.com"
        /// The path of a PEM file with the CA certificates to trust. Empty: the system's certificates.
        package var caFile = ""
        /// The content of `caFile` when the configuration was read.
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
        apns.file("key_file", into: &keyFile, containing: .privateKey, into: &key, isUsed: enabled)
        apns.text("topic", into: &topic, enabled ? .bundleID : .bundleIDOrNone)
        apns.file("ca_file", into: &caFile, content: &authorities, isUsed: enabled)
    }
}

extension Settings.FCM {
    fileprivate mutating func read(_ fcm: Section) {
        fcm.flag("enabled", into: &enabled)
        fcm.file(
            "service_account_file", into: &serviceAccountFile, containing: .serviceAccount, into: &serviceAccount,
            isUsed: enabled)
        fcm.url("base_url", into: &baseURL, .baseURL, isHidden: false)
        fcm.file("ca_file", into: &caFile, content: &authorities, isUsed: enabled)
    }
}
