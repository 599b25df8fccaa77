import Primitives

extension Settings.ChannelRule {
    /// Which apps may subscribe to the plain names of a rule without a signature, during a migration.
    package struct Legacy: Equatable, Sendable {
        /// The first day, in UTC, on which they may not any more, such as `2027-03-31`; empty: no end.
        package var until = ""
        /// The keys of these apps; empty: there are none.
        package var keys: [String] = []
        /// The addresses and networks from which they may come; empty: all.
        package var addresses: [String] = []
        /// The members of events' data that are null for them.
        package var hide: [String] = []

        package init() {}

        /// Whether there are such apps.
        package var isEnabled: Bool { !keys.isEmpty }

        /// The end in milliseconds since 1970; nil without one.
        package var untilMilliseconds: Int64? { until.isEmpty ? nil : StringRule.milliseconds(ofDay: until) }
    }
}

extension Settings.ChannelRule.Legacy {
    init(_ legacy: Section) {
        self.init()
        let location = legacy.text("until", into: &until, .dayOrNone)
        legacy.texts("keys", into: &keys, .identifier, mayBeEmpty: true)
        legacy.texts("addresses", into: &addresses, .network, mayBeEmpty: true)
        legacy.texts("hide", into: &hide, .memberName, mayBeEmpty: true)
        if keys.isEmpty, !(until.isEmpty && addresses.isEmpty && hide.isEmpty) {
            legacy.reader.report(
                "expected keys: the keys of the apps that may subscribe without a signature",
                at: location ?? legacy.reader.location(legacy.path, legacy.line))
        }
    }
}

extension Settings {
    /// The longest time that production permits apps that never sign.
    static let legacyDaysMax: Int64 = 180

    /// The keys of rules that let apps in which never sign, and for too long, or which no app has.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - file: the path that errors show as the file's name.
    package func legacyErrors(inProduction: Bool, at now: Int64, file: String) -> [ConfigurationError] {
        channels.enumerated().filter(\.element.legacy.isEnabled).compactMap { index, rule in
            let app = apps[fleetAppIndex]
            if let unknown = rule.legacy.keys.first(where: { !$0.hasSameBytes(as: app.key) }) {
                return ConfigurationError(
                    file: file, key: "channels[\(index)].legacy.keys",
                    problem: "expected the key of app \(app.id), which has the fleet channels, found \(QuotedValue.of(unknown))")
            }
            guard inProduction else { return nil }
            let last = now + Self.legacyDaysMax * 86_400_000
            guard rule.legacy.untilMilliseconds.map({ $0 > last }) ?? true else { return nil }
            return ConfigurationError(
                file: file, key: "channels[\(index)].legacy.until",
                problem: "expected a day within \(Self.legacyDaysMax) days, because until then anybody may listen to "
                    + "\(rule.pattern), found " + (rule.legacy.until.isEmpty ? "nothing" : rule.legacy.until))
        }
    }
}

extension StringRule {
    /// A day of the calendar, or empty.
    static let dayOrNone = StringRule("a day such as 2027-03-31") { $0.isEmpty || milliseconds(ofDay: $0) != nil }

    static let memberName = StringRule("the name of a member: 1 to 64 letters, digits, _ or -", accepts: identifier.accepts)

    /// The beginning of a day in UTC, in milliseconds since 1970; nil for other texts.
    static func milliseconds(ofDay day: String) -> Int64? {
        day.utf8.count == 10 ? Timestamp.milliseconds(iso8601: day + "T00:00:00Z") : nil
    }
}
