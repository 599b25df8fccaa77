/// A secret of the configuration with its key, and what production asks of it.
struct NamedSecret {
    /// What a secret is for.
    enum Kind {
        /// Signs or encrypts, so that who guesses it can check the guess alone.
        case signing
        /// A bearer token, which only the gateway can check.
        case token
        /// 32 bytes in base64.
        case key
        /// A password of another server, whose operators choose its length.
        case password
    }

    /// The path of its key.
    let key: String
    let value: String
    let kind: Kind

    /// The words that mark a secret as a sample, with a letter on neither side.
    private static let sampleWords = ["change-me", "change_me", "changeme", "secret", "example", "password"]
    /// A secret with fewer different bytes was typed, not drawn.
    private static let differentBytesMin = 8
    /// 32 random bytes have fewer than 16 different ones about once in 10^12 times.
    private static let differentKeyBytesMin = 16
    /// How to make a good one.
    private static let remedy = "make one with openssl rand -base64 32"

    private var bytesMin: Int {
        switch kind {
        case .signing: Settings.secretBytesMin
        case .token: 16
        case .key, .password: 0
        }
    }

    /// Why production refuses it: what was expected and found, and what to do. Nil: it does not.
    var problem: String? {
        let count = value.utf8.count
        if Settings.demoSecrets.contains(value) { return Settings.demoSecretProblem }
        if count < bytesMin { return "expected at least \(bytesMin) bytes, found \(count): \(Self.remedy)" }
        let different = Set(kind == .key ? Self.decoded(value) : Array(value.utf8)).count
        let differentMin = kind == .key ? Self.differentKeyBytesMin : Self.differentBytesMin
        if different < differentMin {
            return "expected at least \(differentMin) different bytes, found \(different): \(Self.remedy)"
        }
        guard kind != .key, let word = Self.sampleWords.first(where: { Self.contains($0, value) }) else { return nil }
        return "expected a random secret, found one with the word \(word): \(Self.remedy)"
    }

    /// Whether a text contains a word, in any case, that is not part of a longer word.
    private static func contains(_ word: String, _ text: String) -> Bool {
        let (word, text) = (Array(word.utf8), text.utf8.map { $0.isLetter ? $0 | 0x20 : $0 })
        guard text.count >= word.count else { return false }
        return (0...text.count - word.count).contains { start in
            let end = start + word.count
            return text[start..<end].elementsEqual(word) && (start == 0 || !text[start - 1].isLetter)
                && (end == text.count || !text[end].isLetter)
        }
    }

    /// The bytes of a base64 text (RFC 4648 section 4) that ``StringRule/masterKey`` has accepted.
    private static func decoded(_ text: String) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var (bytes, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
        for digit in text.utf8.compactMap({ alphabet.firstIndex(of: $0) }) {
            (bits, count) = (bits << 6 | UInt32(digit), count + 6)
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return bytes
    }
}

extension Settings {
    /// All secrets that are set, and those that must be, in the order in which errors name them.
    var secrets: [NamedSecret] {
        var secrets: [NamedSecret] = []
        func add(_ key: String, _ value: String, _ kind: NamedSecret.Kind = .signing) {
            if !value.isEmpty { secrets.append(NamedSecret(key: key, value: value, kind: kind)) }
        }
        for (index, app) in apps.enumerated() {
            for (number, secret) in app.secrets.enumerated() {
                add("apps[\(index)]." + (app.secrets.count == 1 ? "secret" : "secrets[\(number)]"), secret)
            }
            add("apps[\(index)].encryption_master_key", app.encryptionMasterKey, .key)
        }
        if fleet.enabled { secrets += secretsOfFleet }
        if cluster.isEnabled {
            add("cluster.password", cluster.password, .password)
            add("cluster.token", cluster.token, .password)
        }
        add("metrics.token", metrics.token, .token)
        return secrets
    }

    private var secretsOfFleet: [NamedSecret] {
        var secrets: [NamedSecret] = []
        func add(_ key: String, _ value: String, _ kind: NamedSecret.Kind = .signing) {
            if !value.isEmpty { secrets.append(NamedSecret(key: key, value: value, kind: kind)) }
        }
        for (index, issuer) in auth.jwt.enumerated() {
            add(auth.jwt.count == 1 ? "auth.jwt.secret" : "auth.jwt[\(index)].secret", issuer.secret)
        }
        for (number, secret) in auth.session.secrets.enumerated() {
            add("auth.session." + (auth.session.secrets.count == 1 ? "secret" : "secrets[\(number)]"), secret)
        }
        if auth.introspection.isEnabled { add("auth.introspection.client_secret", auth.introspection.clientSecret, .password) }
        if otp.isEnabled { secrets.append(NamedSecret(key: "otp.sms.secret", value: otp.sms.secret, kind: .signing)) }
        for (index, entry) in store.encryptionKeys.enumerated() { add("store.encryption_keys[\(index)].key", entry.key, .key) }
        return secrets
    }

    /// The keys of secrets whose value another key has, too, each with that other key.
    ///
    /// Who has one of two equal secrets has the rights of both: the text that an app signs names no app, and an app's secret
    /// that is also that of `auth.jwt` signs an admin's token.
    package var equalSecrets: [(key: String, other: String)] {
        var first: [String: String] = [:]
        return secrets.compactMap { secret in
            if let other = first[secret.value] { return (secret.key, other) }
            first[secret.value] = secret.key
            return nil
        }
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool { (self | 0x20).isLowercase }
}
