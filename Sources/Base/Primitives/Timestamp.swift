/// ISO 8601 timestamps in UTC.
///
/// Computed from integers, without Foundation. Its `Date` stores seconds as a `Double`, whose rounding makes many times
/// slightly too early, so that they would be written as the millisecond before. Its `ISO8601FormatStyle` accepts days
/// that do not exist (30 February) and rejects a time without seconds.
package enum Timestamp {
    /// `2026-11-21T09:30:00.123Z` for milliseconds since 1970.
    package static func iso8601(milliseconds: Int64) -> String {
        "\(dateAndTime(milliseconds)).\(padded(milliseconds.flooredRemainder(1000), 3))Z"
    }

    /// `2026-11-21T09:30:00Z`: without the fraction, which some parsers reject.
    package static func wholeSeconds(milliseconds: Int64) -> String { "\(dateAndTime(milliseconds))Z" }

    private static func dateAndTime(_ milliseconds: Int64) -> String {
        let seconds = milliseconds.flooredQuotient(1000)
        let (year, month, day) = civilDate(daysSince1970: seconds.flooredQuotient(86_400))
        let second = seconds.flooredRemainder(86_400)
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
            + "T\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
    }

    /// The Gregorian date of a day. The algorithm counts years from March, so that the leap day is the last day of a
    /// year, and in cycles of 400 years, which all have 146,097 days (Hinnant, `civil_from_days`).
    private static func civilDate(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let days = daysSince1970 + 719_468  // since 0000-03-01
        let cycle = days.flooredQuotient(146_097)
        let dayOfCycle = days.flooredRemainder(146_097)
        // The day's number minus the leap days so far, divided by 365, is the year. Counted from 0, the leap day is day
        // 1,460 of every 4 years. Every 100 years (36,524 days) end without it, except the last of 400 years, whose
        // leap day is day 146,096.
        let yearOfCycle = (dayOfCycle - dayOfCycle / 1460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        // From March on, every five months have 31, 30, 31, 30 and 31 days, together 153.
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        return (cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0), month, day)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension Timestamp {
    /// Whether `text` is a date (`2026-11-21`) or a date with a time (`2026-11-21T09:30:00.123Z`) in ISO 8601's
    /// extended form, and the day exists. Seconds, their fraction, and the offset are optional. The fraction begins with a
    /// point or a comma; the offset is `Z`, `z`, `±hh:mm`, `±hhmm` or `±hh`, as the libraries of phones write it.
    package static func isISO8601(_ text: String) -> Bool { milliseconds(iso8601: text) != nil }

    /// The milliseconds since 1970 of a date or time as ``isISO8601(_:)`` describes it. A date is its first moment, a time
    /// without offset is in UTC, and what is finer than a millisecond is cut off. Nil for any other text.
    package static func milliseconds(iso8601 text: String) -> Int64? { moment(iso8601: text)?.milliseconds }

    /// As ``milliseconds(iso8601:)``, and whether the text has an offset. Without one it may be the local time of a phone.
    package static func moment(iso8601 text: String) -> (milliseconds: Int64, hasOffset: Bool)? {
        var rest = text.utf8[...]
        guard let year = rest.number(digits: 4), rest.skip("-"), let month = rest.number(digits: 2), rest.skip("-"),
            let day = rest.number(digits: 2), 1...12 ~= month, 1...daysInMonth(month, of: year) ~= day
        else { return nil }
        let midnight = days(since1970: Int64(year), Int64(month), Int64(day)) * 86_400_000
        if rest.isEmpty { return (midnight, false) }
        guard rest.skip("T"), let time = time(&rest) else { return nil }
        if rest.isEmpty { return (midnight + time, false) }
        guard let offset = offset(&rest), rest.isEmpty else { return nil }
        return (midnight + time - offset, true)
    }

    /// The days from 1970 to a Gregorian date: the inverse of ``civilDate(daysSince1970:)`` (Hinnant,
    /// `days_from_civil`).
    private static func days(since1970 year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let cycle = yearFromMarch.flooredQuotient(400)
        let yearOfCycle = yearFromMarch.flooredRemainder(400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return cycle * 146_097 + yearOfCycle * 365 + yearOfCycle / 4 - yearOfCycle / 100 + dayOfYear - 719_468
    }

    /// Reads a time of the day, in milliseconds.
    private static func time(_ rest: inout Substring.UTF8View) -> Int64? {
        guard let hour = rest.number(digits: 2), rest.skip(":"), let minute = rest.number(digits: 2), hour < 24, minute < 60
        else { return nil }
        let minutes = Int64(hour * 60 + minute) * 60_000
        guard rest.skip(":") else { return minutes }
        guard let second = rest.number(digits: 2), second < 60 else { return nil }
        let seconds = minutes + Int64(second) * 1_000
        guard rest.skip(".") || rest.skip(",") else { return seconds }
        let fraction = rest
        guard rest.skipDigits() > 0 else { return nil }
        return seconds + fraction.milliseconds()
    }

    /// Reads the offset from UTC, in milliseconds.
    private static func offset(_ rest: inout Substring.UTF8View) -> Int64? {
        if rest.skip("Z") || rest.skip("z") { return 0 }
        let isWest = rest.skip("-")
        guard isWest || rest.skip("+"), let hour = rest.number(digits: 2) else { return nil }
        let hasColon = rest.skip(":")
        guard let minute = rest.isEmpty && !hasColon ? 0 : rest.number(digits: 2), hour < 24, minute < 60 else { return nil }
        return Int64(hour * 60 + minute) * (isWest ? -60_000 : 60_000)
    }

    private static func daysInMonth(_ month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Substring.UTF8View {
    /// Skips `character`. Returns false if the next character is another one.
    fileprivate mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard first == UInt8(ascii: character) else { return false }
        removeFirst()
        return true
    }

    /// Reads a number of exactly `digits` digits; nil, and nothing is consumed, if there are fewer.
    fileprivate mutating func number(digits: Int) -> Int? {
        let text = prefix(digits)
        guard text.count == digits, text.allSatisfy(Self.isDigit) else { return nil }
        removeFirst(digits)
        return text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Skips digits and returns how many there were.
    fileprivate mutating func skipDigits() -> Int {
        let digits = prefix(while: Self.isDigit)
        removeFirst(digits.count)
        return digits.count
    }

    /// Reads the digits of a fraction of a second, in milliseconds.
    fileprivate func milliseconds() -> Int64 {
        let digits = prefix(3).prefix(while: Self.isDigit).map { Int64($0 - UInt8(ascii: "0")) }
        return (0..<3).reduce(0) { $0 * 10 + ($1 < digits.count ? digits[$1] : 0) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }
}

extension Int64 {
    /// Division rounded down. `/` rounds toward zero, which is wrong for times before 1970.
    fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 { self / divisor - (self % divisor < 0 ? 1 : 0) }

    fileprivate func flooredRemainder(_ divisor: Int64) -> Int64 {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}
