import Configuration

/// A rule that the gateway has by default for plain names of a fleet (`channels` in config/fleetwire.yaml). Apps need a token
/// for these names, unless the rule lets apps in that never sign (`legacy`).
struct FleetRule: Equatable {
    /// A name, or the beginning of names and a final `*`.
    let pattern: String
    let access: String
    let isDurable: Bool
    /// Whether the names are open to apps that never sign. A dispatcher's names are not: they tell of all drivers.
    let permitsLegacy: Bool

    /// All of them, in their order.
    static let all = Settings.ChannelRule.defaults.map { rule in
        FleetRule(
            pattern: rule.pattern, access: rule.access.rawValue, isDurable: rule.durable, permitsLegacy: rule.access != .admin)
    }

    /// Whether the rule is about a name without a prefix such as `private-`.
    func matches(_ name: String) -> Bool {
        guard pattern.utf8.last == UInt8(ascii: "*") else { return pattern.utf8.elementsEqual(name.utf8) }
        let beginning = pattern.utf8.dropLast()
        return name.utf8.count > beginning.count && name.utf8.starts(with: beginning)
    }

    /// The rule in YAML.
    /// - Parameter key: the key, in quotes, of the apps that never sign; nil: the rule lets none of them in.
    func lines(legacyKey key: String?) -> [String] {
        var lines = ["  - pattern: \"\(pattern)\"", "    access: \(access)"]
        if isDurable { lines.append("    durable: true") }
        if let key, permitsLegacy {
            lines.append("    legacy: {until: \"\", keys: [\(key)], addresses: [], hide: []}")
        }
        return lines
    }
}
