/// A duration as written in the configuration: `30s`, `10m`, `1h` or `7d`.
struct DurationText {
    let text: String
    let seconds: Int

    init?(_ text: String) {
        guard let unit = text.utf8.last.flatMap(Self.seconds), let count = Int(text.dropLast()) else { return nil }
        let (seconds, overflows) = count.multipliedReportingOverflow(by: unit)
        guard count >= 0, !overflows, String(count) == text.dropLast() else { return nil }  // Rejects 010s and +1s.
        self.text = text
        self.seconds = seconds
    }

    /// Uses the largest unit that divides the duration evenly. The exception is exactly one day, which is written as
    /// 24h: days are used only from 2d.
    init(seconds: Int) {
        let units = seconds > 86_400 ? "dhm".utf8 : "hm".utf8
        let unit = units.first { Self.seconds(in: $0).map { seconds > 0 && seconds % $0 == 0 } ?? false }
        let unitSeconds = unit.flatMap(Self.seconds) ?? 1
        let name = unit.map { String(decoding: [$0], as: UTF8.self) } ?? "s"
        self.init(text: "\(seconds / unitSeconds)\(name)", seconds: seconds)
    }

    private init(text: String, seconds: Int) {
        self.text = text
        self.seconds = seconds
    }

    private static func seconds(in unit: UInt8) -> Int? {
        switch unit {
        case UInt8(ascii: "s"): 1
        case UInt8(ascii: "m"): 60
        case UInt8(ascii: "h"): 3_600
        case UInt8(ascii: "d"): 86_400
        default: nil
        }
    }

    /// The shortest lifetime that the configuration may give a notification.
    static let shortestLifetime = DurationText(text: "1s", seconds: 1)
    /// The longest lifetime that the configuration may give a notification: FCM stores a message for 28 days at most.
    static let longestLifetime = DurationText(text: "28d", seconds: 28 * 86_400)
}
