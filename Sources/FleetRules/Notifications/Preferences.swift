import JSON

/// What somebody wants to be told on his phone, and when not.
package struct Preferences: Equatable, Sendable {
    /// By the notification's type or event, as apps know them: `new_job`, `job-assigned`. What is not here is on.
    package var types: [String: Bool] = [:]
    package var quietHours = QuietHours()

    /// Hours in which only what is urgent is pushed.
    package struct QuietHours: Equatable, Sendable {
        package var isEnabled = false
        /// Minutes since midnight (0–1,439), the first of them quiet.
        package var from = 22 * 60
        /// Minutes since midnight (0–1,439), the first that is no longer quiet. As `from`: the whole day.
        package var to = 7 * 60
        /// A name of the IANA time zone database.
        package var timeZone = "Europe/London"

        package init() {}

        /// Whether a minute of the day is one of them. They may span midnight.
        package func contains(minuteOfDay minute: Int) -> Bool {
            guard isEnabled else { return false }
            if from == to { return true }
            return from < to ? (from..<to).contains(minute) : minute >= from || minute < to
        }
    }

    package init() {}

    /// Whether any of the names of a notification is switched off.
    package func isOff(_ names: [String]) -> Bool { names.contains { types[$0] == false } }
}

/// What a request says of preferences; what it does not mention stays.
package struct PreferenceChanges: Equatable, Sendable {
    /// Nil: as if it had never been said.
    package var types: [String: Bool?] = [:]
    package var isEnabled: Bool?
    package var from: Int?
    package var to: Int?
    package var timeZone: String?

    package init() {}

    /// Makes the changes. Beyond `typesMax` names, which is far more than there are types, the request is refused.
    package func apply(to preferences: inout Preferences) throws(RuleError) {
        for (name, isOn) in types { preferences.types[name] = isOn }
        guard preferences.types.count <= Self.typesMax else {
            throw RuleError(.invalid, "types: at most \(Self.typesMax) are kept")
        }
        if let isEnabled { preferences.quietHours.isEnabled = isEnabled }
        if let from { preferences.quietHours.from = from }
        if let to { preferences.quietHours.to = to }
        if let timeZone { preferences.quietHours.timeZone = timeZone }
    }

    /// Names of types that are kept for one person.
    package static let typesMax = 100
}

extension Preferences {
    /// As answers and the store have it: `{"types":{…},"quietHours":{…}}`, types in alphabetical order.
    package func write(to json: inout JSONWriter) {
        json.raw(#"{"types":{"#)
        for (index, type) in types.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { json.raw(",") }
            json.string(type.key)
            json.raw(type.value ? ":true" : ":false")
        }
        json.raw(#"},"quietHours":{"enabled":"#)
        json.raw(quietHours.isEnabled ? "true" : "false")
        json.raw(#","from":"#)
        json.string(Self.clock(quietHours.from))
        json.raw(#","to":"#)
        json.string(Self.clock(quietHours.to))
        json.raw(#","timeZone":"#)
        json.string(quietHours.timeZone)
        json.raw("}}")
    }

    /// `22:00` as minutes since midnight; nil unless it is one of those.
    package static func minutes(ofClock text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        let digits = [bytes[0], bytes[1], bytes[3], bytes[4]].map { Int($0) - 48 }
        guard digits.allSatisfy((0...9).contains) else { return nil }
        let (hours, minutes) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
        return hours < 24 && minutes < 60 ? hours * 60 + minutes : nil
    }

    private static func clock(_ minutes: Int) -> String {
        let digits = [minutes / 600, minutes / 60 % 10, minutes % 60 / 10, minutes % 10]
        return "\(digits[0])\(digits[1]):\(digits[2])\(digits[3])"
    }
}
