import Foundation

/// What a clock on a wall shows. The database of time zones is Foundation's own (ICU's), so it is there in images without
/// tzdata; Foundation is linked for the sake of YAML anyway.
package enum LocalTime {
    /// Minutes since midnight (0–1,439) in a zone of the IANA database, summer time included; nil where there is no such zone.
    ///
    /// The first time a zone is asked for costs some 50 µs, further times 0.3: Foundation keeps those it has made.
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

    /// Whether there is a zone of this name, in exactly these letters: `Europe/London`, `UTC`.
    package static func isKnown(_ zone: String) -> Bool { timeZone(zone) != nil }

    /// Foundation knows more names than the database has, and not all mean what one would think: its BST is Bangladesh's.
    private static func timeZone(_ name: String) -> TimeZone? {
        guard (1...nameBytesMax).contains(name.utf8.count), name.utf8.allSatisfy(isOfName),
            name.utf8.contains(UInt8(ascii: "/")) || namesWithoutPlace.contains(name)
        else { return nil }
        return TimeZone(identifier: name)
    }

    /// The longest name has 32.
    private static let nameBytesMax = 64

    /// Those that are no place and still in use; the others without a slash are old names of countries.
    private static let namesWithoutPlace: Set = [
        "UTC", "GMT", "WET", "CET", "MET", "EET", "EST", "MST", "HST", "EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT",
    ]

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "+"):
            true
        default: false
        }
    }
}
