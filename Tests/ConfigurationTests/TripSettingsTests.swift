import Testing

@testable import Configuration

@Suite struct TripSettingsTests {
    @Test(arguments: [
        ("arrival_metres: -1", "a number from 0 to 100000"), ("approaching_metres: -0.1", "a number from 0 to 100000"),
        ("accuracy_metres: nan", "a number from 0 to 10000"), ("nearby_minutes: -1", "an integer from 0 to 1440"),
        ("waiting_seconds: -1", "an integer from 0 to 86400"), ("stale_seconds: -1", "an integer from 0 to 86400"),
        ("position_hours: -1", "an integer from 0 to 720"), ("default_speed_kmh: 0", "a number above 0, at most 1000"),
        ("default_speed_kmh: 0x10", "a number above 0, at most 1000"), ("detour_factor: 0.0", "a number above 0, at most 100"),
        ("detour_factor: -1.3", "a number above 0, at most 100"), ("automatic_arrival: 1", "true or false"),
    ])
    func rejectsValuesThatMakeNoSense(_ line: String, _ expected: String) {
        #expect(problems("trips: {\(line)}").map { $0.contains("expected \(expected)") } == [true], "\(line)")
    }
}
