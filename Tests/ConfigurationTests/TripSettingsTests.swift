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
        ("arrival_kmh: 300.5", "a number from 0 to 300"), ("arrival_kmh: -1", "a number from 0 to 300"),
        ("arrival_dwell_seconds: 601", "an integer from 0 to 600"), ("arrival_gap_seconds: 601", "an integer from 0 to 600"),
        ("arrival_exit_metres: 100001", "a number from 0 to 100000"), ("undo_minutes: 1441", "an integer from 0 to 1440"),
        ("arrival_exit_metres: 99.9", "0, or at least arrival_metres (100.0), found 99.9"),
        ("jump_kmh: 99", "0, or a number from 100 to 3000, found 99.0"), ("jump_kmh: 3001", "a number from 0 to 3000"),
    ])
    func rejectsValuesThatMakeNoSense(_ line: String, _ expected: String) {
        #expect(problems("trips: {\(line)}").map { $0.contains("expected \(expected)") } == [true], "\(line)")
    }

    @Test(arguments: [
        "arrival_kmh: 0", "arrival_exit_metres: 100", "jump_kmh: 100", "jump_kmh: 3000", "undo_minutes: 1440",
        "arrival_exit_metres: 30, arrival_metres: 30", "arrival_gap_seconds: 0", "arrival_dwell_seconds: 600",
    ])
    func acceptsTheLimits(_ line: String) { #expect(problems("trips: {\(line)}") == []) }
}
