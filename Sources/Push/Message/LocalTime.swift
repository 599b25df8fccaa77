import Foundation

/// Local times by IANA time zone. Uses Foundation's time zones, which come with ICU and so also exist in container
/// images without tzdata. Foundation is no further dependency: Yams links it anyway.
package enum LocalTime {
    /// Minutes since midnight (0–1,439) in an IANA time zone, with daylight saving time; nil if the zone is unknown.
    ///
    /// The first use of a zone takes some 50 µs, later ones 0.3 µs: Foundation caches zones.
    /// - Parameter milliseconds: since 1970.
    package static func minuteOfDay(in zone: String, at milliseconds: Int64) -> Int? {
        guard let zone = timeZone(zone) else { return nil }
        let offset = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1000))
        return minuteOfDay(milliseconds + Int64(offset) * 1000)
    }

    /// Minutes since midnight (0–1,439) in UTC.
    /// - Parameter milliseconds: since 1970.
    package static func minuteOfDay(_ milliseconds: Int64) -> Int {
        let time = milliseconds % 86_400_000
        return Int(time < 0 ? time + 86_400_000 : time) / 60_000
    }

    /// A span of the calendar.
    package enum Unit: Sendable {
        case day
        /// Begins on Monday.
        case week
        case month
    }

    /// When the day, week or month of a moment began in a time zone; nil if the zone is unknown.
    /// - Parameter milliseconds: since 1970.
    /// - Returns: milliseconds since 1970.
    package static func start(of unit: Unit, in zone: String, at milliseconds: Int64) -> Int64? {
        guard let zone = timeZone(zone) else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        calendar.firstWeekday = 2
        let component: Calendar.Component =
            switch unit {
            case .day: .day
            case .week: .weekOfYear
            case .month: .month
            }
        let interval = calendar.dateInterval(of: component, for: Date(timeIntervalSince1970: Double(milliseconds) / 1000))
        return interval.map { Int64(($0.start.timeIntervalSince1970 * 1000).rounded()) }
    }

    /// Whether the zone exists. Names are case-sensitive: `Europe/London`, `UTC`.
    package static func isKnown(_ zone: String) -> Bool { timeZone(zone) != nil }

    /// Nil for names that are not in the IANA database. Foundation accepts further names, some with a surprising
    /// meaning: its `BST` is Bangladesh's time.
    private static func timeZone(_ name: String) -> TimeZone? {
        guard (1...nameBytesMax).contains(name.utf8.count), name.utf8.allSatisfy(isNameByte),
            name.utf8.contains(UInt8(ascii: "/")) || namesWithoutSlash.contains(name)
        else { return nil }
        return TimeZone(identifier: name)
    }

    /// The longest name in the database has 32 bytes; future names may be longer.
    private static let nameBytesMax = 64

    /// The accepted names without a slash. The database's other names without a slash are deprecated: names of
    /// countries such as `Japan`.
    private static let namesWithoutSlash: Set = [
        "UTC", "GMT", "WET", "CET", "MET", "EET", "EST", "MST", "HST", "EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT",
    ]

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "+"):
            true
        default: false
        }
    }
}
