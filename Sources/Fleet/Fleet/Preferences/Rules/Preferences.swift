import JSON

/// A user's push preferences: notification types that are switched off, and quiet hours.
package struct Preferences: Equatable, Sendable {
    /// Whether notifications are pushed, by their type or event name: `new_job`, `job-assigned`. Names that are not
    /// listed are on.
    package var types: [String: Bool] = [:]
    package var quietHours = QuietHours()

    /// Hours in which only urgent notifications are pushed.
    package struct QuietHours: Equatable, Sendable {
        package var isEnabled = false
        /// The first quiet minute of the day (0–1,439).
        package var from = 22 * 60
        /// The first minute after the quiet hours (0–1,439). Equal to `from`: the whole day is quiet.
        package var to = 7 * 60
        /// A name of the IANA time zone database.
        package var timeZone = "Europe/London"

        package init() {}

        /// Whether a minute of the day (0–1,439) is quiet. Quiet hours may span midnight.
        package func contains(minuteOfDay minute: Int) -> Bool {
            guard isEnabled else { return false }
            if from == to { return true }
            return from < to ? (from..<to).contains(minute) : minute >= from || minute < to
        }
    }

    package init() {}

    /// Whether a notification is switched off under any of its names (its type and its event).
    package func isOff(_ names: [String]) -> Bool { names.contains { types[$0] == false } }
}

/// A request's changes to preferences. Fields that the request does not contain stay as they are.
package struct PreferenceChanges: Equatable, Sendable {
    /// By type: on (true), off (false), or removed from the preferences (nil).
    package var types: [String: Bool?] = [:]
    /// Types of the request that nothing is pushed as, in alphabetical order. They are not stored; the response names them.
    package var unknown: [String] = []
    /// The new ``Preferences/QuietHours/isEnabled``; nil: unchanged.
    package var isEnabled: Bool?
    /// The new ``Preferences/QuietHours/from`` (0–1,439); nil: unchanged.
    package var from: Int?
    /// The new ``Preferences/QuietHours/to`` (0–1,439); nil: unchanged.
    package var to: Int?
    /// The new ``Preferences/QuietHours/timeZone``; nil: unchanged.
    package var timeZone: String?

    package init() {}

    /// - Throws: `.invalid` (400) if the preferences would contain more than ``typesMax`` types.
    package func apply(to preferences: inout Preferences) throws(RuleError) {
        for (name, isOn) in types { preferences.types[name] = isOn }
        guard preferences.types.count <= Self.typesMax else {
            throw RuleError(.tooManyTypes, "\(Self.typesMax)")
        }
        if let isEnabled { preferences.quietHours.isEnabled = isEnabled }
        if let from { preferences.quietHours.from = from }
        if let to { preferences.quietHours.to = to }
        if let timeZone { preferences.quietHours.timeZone = timeZone }
    }

    /// The maximum number of types per user: far more than the catalogue contains.
    package static let typesMax = 100
}

extension Preferences {
    /// Writes the preferences as responses and the store contain them: `{"types":{…},"quietHours":{…}}`, types in
    /// alphabetical order.
    package func write(to json: inout JSONWriter) { json.object { writeMembers(to: &$0) } }

    /// Writes the members of ``write(to:)`` into an object that has other members as well.
    package func writeMembers(to json: inout JSONWriter) {
        json.member("types") {
            for (type, isOn) in types.sorted(by: { $0.key < $1.key }) {
                $0.key(type)
                $0.boolean(isOn)
            }
        }
        json.member("quietHours") {
            $0.member("enabled", quietHours.isEnabled)
            $0.member("from", Self.clock(quietHours.from))
            $0.member("to", Self.clock(quietHours.to))
            $0.member("timeZone", quietHours.timeZone)
        }
    }

    /// Minutes since midnight (0–1,439) of a time such as `22:00`; nil if `text` is not such a time.
    package static func minutes(ofClock text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        let digits = [bytes[0], bytes[1], bytes[3], bytes[4]].map { Int($0) - 48 }
        guard digits.allSatisfy((0...9).contains) else { return nil }
        let (hours, minutes) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
        return hours < 24 && minutes < 60 ? hours * 60 + minutes : nil
    }

    /// The time of day, such as `22:00`, that is this number of minutes after midnight (0–1,439).
    private static func clock(_ minutes: Int) -> String {
        let digits = [minutes / 600, minutes / 60 % 10, minutes % 60 / 10, minutes % 10]
        return "\(digits[0])\(digits[1]):\(digits[2])\(digits[3])"
    }
}

extension RuleError.Code {
    package static let tooManyTypes = Self("tooManyTypes", .invalid, "Expected \"types\" to have at most {} entries")
}
