import Access
import Fleet
import JSON
import PusherProtocol

// Rules for push providers, webhooks and encryption keys.

extension StringRule {
    /// Apple's team ids and key ids (developer.apple.com, "Establishing a token-based connection to APNs").
    static let appleIdentifier = StringRule("10 upper-case letters or digits") {
        $0.utf8.count == 10 && $0.utf8.allSatisfy { $0.isLetterOrDigit && !$0.isLowercase }
    }

    static let appleIdentifierOrNone = appleIdentifier.orNone

    /// A push's sound, category, thread or Android channel. At most 64 bytes, because it is part of the push's payload,
    /// which is limited to 4,096 bytes.
    static let displayOption = StringRule("a string of at most 64 bytes") { $0.utf8.count <= 64 }

    /// A name in a catalogue entry's `data`.
    static let dataName = StringRule(
        "a field's name: a letter, then letters, digits or _, and no name that Fleetwire or a provider uses",
        accepts: PushFieldNames.isFree)

    /// A text in a catalogue entry's `data`, which is part of an event and of a push.
    static let dataText = StringRule("a string of 1 to 256 bytes") { (1...256).contains($0.utf8.count) }

    static let bundleID = StringRule("an app's bundle id: 1 to 255 letters, digits, . - or _") {
        (1...255).contains($0.utf8.count) && $0.utf8.allSatisfy { $0.isNameByte || $0 == UInt8(ascii: ".") }
    }

    static let bundleIDOrNone = bundleID.orNone

    /// Rejects a path and a trailing slash, because each request appends its own path.
    static let baseURL = StringRule("an https URL with only a host and an optional port") { text in
        guard let url = URLParts(text) else { return false }
        return url.scheme == "https" && url.isBare
    }

    /// Rejects user info, which would be logged, and a fragment, which HTTP does not send.
    static let webhookURL = StringRule("an http or https URL without user info and fragment") { URLParts($0) != nil }

    static let webhookEvent: StringRule = {
        let names = (WebhookKinds.names + WebhookKinds.namesOfFleet).map(\.name)
        return StringRule(names.dropLast().joined(separator: ", ") + " or " + (names.last ?? ""), accepts: names.contains)
    }()

    /// A key of `store.encryption_keys`. It has the form of an app's `encryption_master_key`, but must not be empty.
    static let storeKey = StringRule(masterKey.expected) { !$0.isEmpty && masterKey.accepts($0) }

    /// Checks only that there is a PEM block of a private key. OpenSSL checks the key itself later (`Settings.unusableKeys`
    /// in Gateway).
    static let privateKey = StringRule("a private key in PEM") {
        let block = /-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----\s[A-Za-z0-9+\/=\s]+-----END ([A-Z0-9 ]*PRIVATE KEY)-----/
        return $0.firstMatch(of: block).map { $0.1 == $0.2 } ?? false
    }

    /// Checks only that the file is a JSON object. This rejects, for example, `GoogleService-Info.plist`, the XML file
    /// that Firebase provides for iOS apps. `ServiceAccount` in Push checks the object's members.
    static let serviceAccount = StringRule("a service account's JSON") { text in
        Array(text.utf8).withUnsafeBytes { bytes in
            (try? JSONReader.value(bytes))?.kind == .object
        }
    }

    private var orNone: StringRule {
        StringRule("\(expected), or \"\"") { [accepts] in $0.isEmpty || accepts($0) }
    }
}
