import JSON
import PusherProtocol

// What the texts must look like that say whom the gateway pushes through, and whom it tells.

extension StringRule {
    /// Teams and keys (developer.apple.com, "Establishing a token-based connection to APNs").
    static let appleIdentifier = StringRule("10 upper-case letters or digits") {
        $0.utf8.count == 10 && $0.utf8.allSatisfy { $0.isLetterOrDigit && !$0.isLowercase }
    }

    static let appleIdentifierOrNone = appleIdentifier.orNone

    /// Goes with every push, which has 4,096 bytes for all.
    static let label = StringRule("a text of at most 64 bytes") { $0.utf8.count <= 64 }

    static let bundleID = StringRule("an app's bundle id: 1 to 255 letters, digits, . - or _") {
        (1...255).contains($0.utf8.count) && $0.utf8.allSatisfy { $0.isNameByte || $0 == UInt8(ascii: ".") }
    }

    static let bundleIDOrNone = bundleID.orNone

    /// No path and no closing slash: requests bring theirs.
    static let baseURL = StringRule("an https URL of nothing but a host and perhaps a port") { text in
        guard let url = URLParts(text) else { return false }
        return url.scheme == "https" && url.isBare
    }

    /// User info would go into logs, and a fragment nowhere.
    static let webhookURL = StringRule("an http or https URL without user info and fragment") { URLParts($0) != nil }

    static let webhookEvent: StringRule = {
        let names = WebhookKinds.names.map(\.name)
        return StringRule(names.dropLast().joined(separator: ", ") + " or " + (names.last ?? ""), accepts: names.contains)
    }()

    static let storeKey = StringRule(masterKey.expected) { !$0.isEmpty && masterKey.accepts($0) }

    /// Whether it is any good is for the library to say that signs with it; this stops what cannot be one.
    static let privateKey = StringRule("a private key in PEM") {
        let block = /-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----\s[A-Za-z0-9+\/=\s]+-----END ([A-Z0-9 ]*PRIVATE KEY)-----/
        return $0.firstMatch(of: block).map { $0.1 == $0.2 } ?? false
    }

    /// Whether all is in it is for those to say who sign with it; this stops the app's own configuration in XML and the like.
    static let serviceAccount = StringRule("a service account's JSON") { text in
        Array(text.utf8).withUnsafeBytes { bytes in
            (try? JSONReader.value(bytes))?.kind == .object
        }
    }

    private var orNone: StringRule {
        StringRule("\(expected), or \"\"") { [accepts] in $0.isEmpty || accepts($0) }
    }
}
