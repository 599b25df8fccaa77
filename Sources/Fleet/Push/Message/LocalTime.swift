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

    /// Whether the zone exists. Names are case-sensitive: `Europe/London`, `UTC`, `GMT+05:30`.
    package static func isKnown(_ zone: String) -> Bool { timeZone(zone) != nil }

    /// Nil for names that are not in the IANA database, and not fixed offsets. Foundation accepts further names, some with a
    /// surprising meaning: its `BST` is Bangladesh's time.
    private static func timeZone(_ name: String) -> TimeZone? {
        if let seconds = offset(name) { return TimeZone(secondsFromGMT: seconds) }
        guard (1...nameBytesMax).contains(name.utf8.count), name.utf8.allSatisfy(isNameByte),
            name.utf8.contains(UInt8(ascii: "/")) || namesWithoutSlash.contains(name)
        else { return nil }
        return TimeZone(identifier: name)
    }

    /// The seconds east of Greenwich of a fixed offset, as phones without a zone name it: `GMT+05:30`, `GMT+0530`,
    /// `+05:30`. The sign is that of ISO 8601. That of POSIX and of the database's `Etc/GMT+5` is the opposite, so an offset
    /// without minutes is refused, as are other names: nil.
    private static func offset(_ name: String) -> Int? {
        var rest = Array(name.utf8)[...]
        if ["GMT", "UTC"].contains(where: name.hasPrefix) { rest = rest.dropFirst(3) }
        let sign = rest.popFirst()
        if rest.count == 5, rest.dropFirst(2).first == UInt8(ascii: ":") { rest.remove(at: rest.startIndex + 2) }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), rest.count == 4,
            rest.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
        else { return nil }
        let digits = rest.map { Int($0) - 0x30 }
        let (hours, minutes) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
        // The widest in use are UTC-12:00 and UTC+14:00.
        guard hours * 60 + minutes <= 14 * 60, minutes < 60 else { return nil }
        return (sign == UInt8(ascii: "-") ? -1 : 1) * (hours * 60 + minutes) * 60
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
