import Primitives
import Push
import Testing

@Suite struct LocalTimeTests {
    @Test(arguments: [
        // 2026-11-21T09:30:00.123Z
        ("UTC", 1_795_253_400_123, 9 * 60 + 30), ("GMT", 1_795_253_400_123, 9 * 60 + 30),
        ("Europe/London", 1_795_253_400_123, 9 * 60 + 30), ("Asia/Kolkata", 1_795_253_400_123, 15 * 60),
        ("America/Argentina/Buenos_Aires", 1_795_253_400_123, 6 * 60 + 30), ("Etc/GMT+5", 1_795_253_400_123, 4 * 60 + 30),
        // The last minute before midnight, and midnight.
        ("UTC", 1_795_305_599_999, 23 * 60 + 59), ("UTC", 1_795_305_600_000, 0), ("UTC", 0, 0), ("UTC", -1, 23 * 60 + 59),
        // 2027: on 28 March London's clocks go from 00:59 to 02:00, on 31 October from 01:59 back to 01:00.
        ("Europe/London", 1_806_195_599_999, 59), ("Europe/London", 1_806_195_600_000, 2 * 60),
        ("Europe/London", 1_824_944_399_999, 60 + 59), ("Europe/London", 1_824_944_400_000, 60),
    ])
    func minuteOfDayFollowsZoneAndDaylightSavingTime(_ zone: String, _ milliseconds: Int64, _ minute: Int) {
        #expect(LocalTime.minuteOfDay(in: zone, at: milliseconds) == minute)
    }

    @Test(arguments: ["Europe/London", "Europe/Kyiv", "Asia/Calcutta", "US/Eastern", "Etc/UTC", "UTC", "GMT", "EST5EDT"])
    func acceptsIANAZones(_ zone: String) {
        #expect(LocalTime.isKnown(zone))
    }

    @Test(arguments: [
        "", " ", "/", "../../etc/passwd", "/usr/share/zoneinfo/Europe/London", "posix/Europe/London", "Europe/Nowhere",
        "europe/london", "Europe/London ", "Europe/London\u{0}", "Europe/Lond\u{F6}n", "Europe", "localtime", "GMT+3", "UTC+3",
        "GMT+3:00", "+03:60", "BST", "PST", "IST", "Z", String(repeating: "Europe/", count: 20_000),
        "Europe/L" + String(repeating: "\u{301}", count: 20_000),
    ])
    func rejectsNamesThatAreNotIANAZones(_ zone: String) {
        #expect(!LocalTime.isKnown(zone))
        #expect(LocalTime.minuteOfDay(in: zone, at: 0) == nil)
    }

    /// Phones whose zone has no name send such: `TimeZone.current.identifier` on iOS, `TimeZone.getDefault().id` on Android.
    @Test func takesFixedOffsets() {
        for hours in 0...14 {
            for minutes in [0, 1, 30, 45, 59] where hours * 60 + minutes <= 14 * 60 {
                let digits = (hours < 10 ? "0" : "") + "\(hours)"
                let rest = (minutes < 10 ? "0" : "") + "\(minutes)"
                for prefix in ["", "GMT", "UTC"] {
                    for colon in ["", ":"] {
                        let east = LocalTime.minuteOfDay(in: "\(prefix)+\(digits)\(colon)\(rest)", at: 86_400_000)
                        let west = LocalTime.minuteOfDay(in: "\(prefix)-\(digits)\(colon)\(rest)", at: 86_400_000)
                        #expect(east == hours * 60 + minutes && west == (24 * 60 - hours * 60 - minutes) % (24 * 60))
                    }
                }
            }
        }
        #expect(LocalTime.start(of: .day, in: "GMT+05:30", at: 0) == -19_800_000)
    }

    @Test(arguments: [
        "+14:01", "-15:00", "+05:3", "+5:30", "05:30", "+05.30", "GMT05:30", "GMT +05:30", "gmt+05:30", "+005:30", "+05:300",
        "+0530:",
        "+:0530", "+05::30", "++05:30", "GMTGMT+05:30", "Z+05:30", "+05:30\u{0}", "+\u{FF10}5:30", "+", "-", "GMT+", "+05",
        "+0560",
    ])
    func rejectsOtherOffsets(_ zone: String) { #expect(!LocalTime.isKnown(zone)) }
}

/// When days, weeks and months began.
@Suite struct LocalTimeStartTests {
    @Test(arguments: [
        // 2026-11-21T09:30:00.123Z is a Saturday.
        (LocalTime.Unit.day, "UTC", "2026-11-21T00:00:00.000Z"), (.week, "UTC", "2026-11-16T00:00:00.000Z"),
        (.month, "UTC", "2026-11-01T00:00:00.000Z"), (.day, "Asia/Kolkata", "2026-11-20T18:30:00.000Z"),
        (.week, "Asia/Kolkata", "2026-11-15T18:30:00.000Z"), (.month, "Asia/Kolkata", "2026-10-31T18:30:00.000Z"),
        (.day, "Pacific/Auckland", "2026-11-20T11:00:00.000Z"), (.month, "America/New_York", "2026-11-01T04:00:00.000Z"),
    ])
    func beginsInTheZone(_ unit: LocalTime.Unit, _ zone: String, _ start: String) {
        #expect(LocalTime.start(of: unit, in: zone, at: 1_795_253_400_123).map { Timestamp.iso8601(milliseconds: $0) } == start)
    }

    @Test func aWeekBeginsOnMonday() {
        let monday = Timestamp.milliseconds(iso8601: "2026-11-23T00:00:00Z") ?? 0
        #expect(LocalTime.start(of: .week, in: "UTC", at: monday) == monday)
        #expect(LocalTime.start(of: .week, in: "UTC", at: monday - 1) == monday - 7 * 86_400_000)
    }

    /// On 28 March 2027 London's clocks go forward at 01:00, on 31 October back at 02:00.
    @Test func daysOfDaylightSavingTimeAreShorterOrLonger() {
        let noons = ["2027-03-28T12:00:00Z", "2027-03-29T12:00:00Z", "2027-10-31T12:00:00Z", "2027-11-01T12:00:00Z"]
        let starts = noons.map {
            LocalTime.start(of: .day, in: "Europe/London", at: Timestamp.milliseconds(iso8601: $0) ?? 0) ?? 0
        }
        #expect(starts[1] - starts[0] == 23 * 3_600_000 && starts[3] - starts[2] == 25 * 3_600_000)
    }

    @Test func anUnknownZoneHasNone() { #expect(LocalTime.start(of: .day, in: "Mars/Olympus", at: 0) == nil) }
}
