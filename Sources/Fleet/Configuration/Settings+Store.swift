extension Settings.Store {
    mutating func read(_ section: Section) {
        // An environment variable may set the URL although the file has a path.
        let isURLWritten = section.unread.contains { $0.key == "url" && $0.value.text?.isEmpty == false }
        if isURLWritten, section.unread.contains(where: { $0.key == "path" }) {
            section.reader.report(
                "expected either path or url, found both", at: section.reader.location(section.path, section.line))
        }
        section.path("path", into: &path)
        let location = section.url("url", into: &url, .postgresURLOrNone, isHidden: true)
        section.integer("pool", into: &pool, 1...64)
        section.choice("durability", into: &durability)
        section.integer("retention_days", into: &retentionDays, 1...3_650)
        section.list("encryption_keys", into: &encryptionKeys, mayBeEmpty: true) { EncryptionKey($0) }
        if let location, !url.isEmpty, encryptionKeys.isEmpty {
            section.reader.report(
                "needs store.encryption_keys, because there is no file beside which a development key could lie", at: location)
        }
    }
}

extension Settings.Store.EncryptionKey {
    fileprivate init(_ entry: Section) {
        self.init(id: "", key: "")  // The rules reject "", so the keys are required.
        entry.text("id", into: &id, .identifier, unique: true)
        entry.secret("key", into: &key, .storeKey)
    }
}

extension StringRule {
    /// libpq reads the rest (PostgreSQL documentation, "Connection URIs").
    fileprivate static let postgresURLOrNone = StringRule("a URL such as postgresql://user:password@host/database, or \"\"") {
        $0.isEmpty
            || ($0.hasPrefix("postgresql://") || $0.hasPrefix("postgres://")) && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
