import TestSupport
import Testing

@testable import Primitives

/// The spellings of one moment that the libraries of phones and servers write.
@Suite struct TimestampSpellingTests {
    @Test func everySpellingOfAMomentIsRead() {
        var random = SplitMix(seed: 30)
        for _ in 0..<20_000 {
            let minutes = Int64.random(in: -1_439...1_439, using: &random)
            let moment = Int64.random(in: 0...4_102_444_800_000, using: &random) + 86_400_000
            let local = Timestamp.iso8601(milliseconds: moment + minutes * 60_000)
            let digits = Int.random(in: 0...24, using: &random)
            // The digits behind the third are any.
            let more = (0..<max(0, digits - 3)).map { _ in String(Int.random(in: 0...9, using: &random)) }.joined()
            let point = Bool.random(using: &random) ? "." : ","
            let fraction = digits == 0 ? "" : point + String((local.dropFirst(20).prefix(3) + more).prefix(digits))
            let (hour, minute) = (abs(minutes) / 60, abs(minutes) % 60)
            func padded(_ number: Int64) -> String { (number < 10 ? "0" : "") + String(number) }
            let sign = minutes < 0 ? "-" : "+"
            var offsets = ["\(sign)\(padded(hour)):\(padded(minute))", "\(sign)\(padded(hour))\(padded(minute))"]
            if minute == 0 { offsets.append("\(sign)\(padded(hour))") }
            if minutes == 0 { offsets += ["Z", "z", "-00:00", "-0000", "-00"] }
            let text = local.prefix(19) + fraction + offsets.randomElement(using: &random)!
            let cut = digits >= 3 ? 1 : digits == 2 ? 10 : digits == 1 ? 100 : 1_000 as Int64
            let read = Timestamp.moment(iso8601: String(text))
            #expect(read?.milliseconds == moment - moment % cut && read?.hasOffset == true, "\(text)")
        }
    }

    @Test(arguments: [
        "+0", "+000", "+25:00", "+24:00", "+2460", "+00:", "+00:0", "+00:000", "+00000", "+0a", "+a0", "+", "-", "Zz", "zZ",
        "+05:3",
        " +05:30", "+05.30", "+-5", "UTC", "+05:30Z", "\u{2212}05:30",
    ])
    func otherOffsetsStayWrong(_ offset: String) {
        #expect(Timestamp.moment(iso8601: "2026-11-21T09:30:00" + offset) == nil)
        #expect(Timestamp.moment(iso8601: "2026-11-21T09:30:00.5" + offset) == nil)
    }

    @Test(arguments: ["2026-11-21", "2026-11-21T09:30", "2026-11-21T09:30:00", "2026-11-21T09:30:00,1234567890123"])
    func aTimeWithoutOffsetSaysSo(_ text: String) { #expect(Timestamp.moment(iso8601: text)?.hasOffset == false) }

    @Test(arguments: ["2026-11-21T09:30:00.Z", "2026-11-21T09:30:00,", "2026-11-21T09:30:00.,5Z", "2026-11-21T09:30,5Z"])
    func aFractionHasDigits(_ text: String) { #expect(Timestamp.moment(iso8601: text) == nil) }

    /// The time is linear in the length.
    @Test func longFractionsAreRead() {
        let text = "2026-11-21T09:30:00." + String(repeating: "9", count: 100_000) + "Z"
        #expect(Timestamp.moment(iso8601: text)?.milliseconds == 1_795_253_400_999)
    }
}
