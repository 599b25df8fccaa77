import Fleet
import Primitives
import PusherAPI
import Testing

/// `POST /api/driver/location`: what phones write of their positions.
@Suite struct FleetLocationTests {
    private func call(_ body: String) -> FleetCall { FleetCall(.post, "/api/driver/location", body, as: .driver) }

    private func report(_ members: String) -> LocationReport? {
        if case .locate(let report, _)? = call(#"{"latitude":51.5,"longitude":-0.1,\#(members)}"#).apiAction().ofFleet {
            report
        } else {
            nil
        }
    }

    private func position(_ members: String) -> Position? { report(members)?.positions.first }

    @Test func readsAllMembers() {
        let all = #""heading":360,"speed":8.3,"accuracy":12,"recordedAt":"1970-01-01T00:00:01.5Z""#
        #expect(
            report(all)?.positions == [
                Position(latitude: 51.5, longitude: -0.1, heading: 0, accuracy: 12, speed: 8.3, recordedAt: 1_500)
            ])
        #expect(position(#""heading":null"#) == Position(latitude: 51.5, longitude: -0.1, recordedAt: .max))
    }

    /// Apple's frameworks write -1 for what is not known, and for a position that is none.
    @Test func minusOneRefusesNothing() {
        let unknown = position(#""heading":-1,"speed":-1,"accuracy":5"#)
        #expect(unknown == Position(latitude: 51.5, longitude: -0.1, accuracy: 5, recordedAt: .max))
        #expect(position(#""accuracy":-1"#)?.isDeclaredInvalid == true && position(#""accuracy":-0.0"#)?.isNone == false)
        let listed = call(
            #"{"positions":[{"latitude":1,"longitude":2,"accuracy":-1},{"latitude":1,"longitude":2,"speed":-1,"heading":-0.5}]}"#)
        guard case .locate(let report, _)? = listed.apiAction().ofFleet else {
            Issue.record("refused")
            return
        }
        #expect(report.positions.map(\.isNone) == [true, false])
    }

    @Test func valuesAboveTheirRangesAreBadOrUnknown() {
        #expect(position(#""speed":150"#)?.speed == 150 && position(#""speed":150.1"#)?.speed == nil)
        #expect(position(#""accuracy":10000"#)?.accuracy == 10_000)
        #expect(position(#""accuracy":10000.1"#)?.accuracy == Position.badAccuracy)
        #expect(position(#""accuracy":1e300"#).map { $0.isFix(TripRules()) || $0.isNone } == false)
    }

    @Test(arguments: [
        (#""heading":360.1"#, #""heading" to be from 0 to 360"#), (#""speed":"fast""#, #""speed" to be a number"#),
        (#""latitude":90.1"#, #""latitude" to be from -90 to 90"#), (#""longitude":null"#, #""longitude": a number is required"#),
        (#""accuracy":true"#, #""accuracy" to be a number"#),
        (#""recordedAt":"1970-01-01T00:00:01+0""#, #""recordedAt" to be a time in ISO 8601, such as 2026-11-21T09:30:00Z"#),
    ])
    func wrongMembersAreNamed(_ members: String, _ problem: String) {
        #expect(call(#"{"latitude":51.5,"longitude":-0.1,\#(members)}"#).refusal == "400 Expected " + problem)
    }

    /// Flutter writes the local time without an offset. West of Greenwich, it looks like the past.
    @Test(
        arguments: [
            (#""1970-01-01T00:00:01Z""#, 1_000, 0), (#""1970-01-01T05:30:01+0530""#, 1_000, 0),
            (#""1970-01-01T00:00:01""#, .max, 1),
            (#""1970-01-01T00:00""#, .max, 1), (#""1970-01-01""#, .max, 1), ("null", .max, 0),
        ] as [(String, Int64, Int)])
    func aTimeWithoutOffsetCountsAsNow(_ time: String, _ recordedAt: Int64, _ count: Int) {
        let report = report(#""recordedAt":\#(time)"#)
        #expect(report?.positions.map(\.recordedAt) == [recordedAt] && report?.withoutOffset == count)
    }

    @Test func telemetryWithoutOffsetHasNoTime() {
        for (time, expected) in [
            ("2026-11-21T09:30:00Z", "2026-11-21T09:30:00Z"), ("2026-11-21T09:30:00", nil),
            ("2026-11-21T09:30:00,5+00", "2026-11-21T09:30:00,5+00"),
        ] {
            let body = FleetTelemetryTests.event(["timestamp": "\"\(time)\""])
            guard case .telemetry(let events) = FleetCall(.post, "/api/driver/notifications/log", body, as: .driver).action else {
                Issue.record("refused: \(time)")
                continue
            }
            #expect(events.map(\.timestamp) == [expected])
        }
    }
}

/// `POST /api/admin/orders/{code}/correct`, and a driver's undo.
@Suite struct ArrivalCorrectionRequestTests {
    private func correct(_ body: String) -> FleetCall { FleetCall(.post, "/api/admin/orders/A1/correct", body) }

    private func progress(_ body: String) -> Command.Action? {
        FleetCall(.put, "/api/driver/jobs/A1/progress", body, as: .driver).action
    }

    @Test func readsAStepAndAReason() {
        #expect(correct(#"{"step":"en_route"}"#).action == .correctArrival("A1", reason: nil))
        #expect(correct(#"{"step":"enRoute","reason":null}"#).action == .correctArrival("A1", reason: nil))
        #expect(correct(#"{"step":"en_route","idempotencyKey":"k"}"#).command?.idempotencyKey?.text == "k")
        let longest = String(repeating: "é", count: 200)
        #expect(correct(#"{"step":"en_route","reason":"\#(longest)"}"#).action == .correctArrival("A1", reason: longest))
    }

    @Test(arguments: [
        ("", #"Expected "step": a string is required"#),
        (#"{"step":"loading"}"#, #"Expected "step" to be en_route; found loading"#),
        (#"{"step":"en_route","reason":1}"#, #"Expected "reason" to be a string"#),
        (
            #"{"step":"en_route","reason":"\#(String(repeating: "é", count: 201))"}"#,
            #"Expected "reason" to have at most 200 characters"#
        ),
        (#"{"step":"en_route","b":1,"a":2}"#, #"Unknown "a": expected only idempotencyKey, reason, step"#),
        (#"{"step":"en_route","é":1}"#, "Unknown member: expected only idempotencyKey, reason, step"),
        (
            #"{"step":"en_route","\#(String(repeating: "x", count: 40))":1}"#,
            "Unknown member: expected only idempotencyKey, reason, step"
        ),
    ])
    func wrongBodiesAreRefused(_ body: String, _ text: String) { #expect(correct(body).refusal == "400 " + text) }

    @Test func aDriversUndoHasAReason() {
        var report = ProgressReport(step: .enRoute)
        (report.isUndo, report.reason) = (true, "pressed by mistake")
        #expect(progress(#"{"step":"en_route","undo":true,"reason":"pressed by mistake"}"#) == .progress("A1", report))
        // Without undo, apps may send what they like.
        #expect(progress(#"{"step":"en_route","reason":5,"undo":false}"#) == .progress("A1", ProgressReport(step: .enRoute)))
        #expect(progress(#"{"step":"en_route","undo":"yes"}"#) == nil)
    }

    @Test(arguments: [("enRoute", JobStatus.enRoute), ("inTransit", .inTransit), ("en_route", .enRoute), ("arrived", .arrived)])
    func stepsMayBeInCamelCase(_ name: String, _ step: JobStatus) {
        #expect(progress(#"{"step":"\#(name)"}"#) == .progress("A1", ProgressReport(step: step)))
    }

    @Test(arguments: ["EnRoute", "en-route", "enroute", "ENROUTE", "enRoute "]) func otherSpellingsAreNone(_ name: String) {
        #expect(progress(#"{"step":"\#(name)"}"#) == nil)
    }

    @Test func aDriversIdMayBeANumber() {
        for path in ["orders/A1/assign-driver", "routes/R1/assign-driver"] {
            let call = { (id: String) in FleetCall(.post, "/api/admin/\(path)", #"{"driverId":\#(id)}"#) }
            #expect(call("42").action == call(#""42""#).action && call("42").action != nil)
            for id in ["-1", "1.5", "1e3"] {
                #expect(call(id).refusal == #"400 Expected "driverId" to be a string or a whole number"#)
            }
        }
    }
}
