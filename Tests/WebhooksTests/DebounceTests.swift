import PusherProtocol
import Testing

@testable import Webhooks

/// V5: what is taken back within three seconds is never told.
@Suite struct DebounceTests {
    /// What happens when, and what is told when: notices by their time in milliseconds.
    struct Course: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let happens: [(at: Int64, AppWebhookEvent)]
        let told: [(at: Int64, AppWebhookEvent)]
    }

    private static let courses = [
        Course(
            testDescription: "what cannot be taken back is told at once",
            happens: [
                (5, occupied("a")), (5, added("anna")), (6, count(1)), (7, AppWebhookEvent(app: 0, .cacheMiss(name("cache-a")))),
            ],
            told: [
                (5, occupied("a")), (5, added("anna")), (6, count(1)), (7, AppWebhookEvent(app: 0, .cacheMiss(name("cache-a")))),
            ]),
        Course(
            testDescription: "a vacated channel is told three seconds later",
            happens: [(0, occupied("a")), (10, vacated("a"))], told: [(0, occupied("a")), (3_010, vacated("a"))]),
        Course(
            testDescription: "back in time: neither is told",
            happens: [(0, occupied("a")), (10, vacated("a")), (3_009, occupied("a")), (9_000, vacated("a"))],
            told: [(0, occupied("a")), (12_000, vacated("a"))]),
        Course(
            testDescription: "back too late: both are told",
            happens: [(10, vacated("a")), (3_010, occupied("a"))], told: [(3_010, vacated("a")), (3_010, occupied("a"))]),
        Course(
            testDescription: "each leaving has three seconds of its own",
            happens: [(0, vacated("a")), (2_000, occupied("a")), (2_500, vacated("a"))], told: [(5_500, vacated("a"))]),
        Course(
            testDescription: "channels and applications are apart",
            happens: [(0, vacated("a")), (1, vacated("a", app: 1)), (2, occupied("b")), (3, occupied("a", app: 1))],
            told: [(2, occupied("b")), (3_000, vacated("a"))]),
        Course(
            testDescription: "members are held by user and channel",
            happens: [
                (0, removed("anna")), (1, removed("bert")), (2, removed("anna", "presence-b")), (3, added("anna")),
                (4, added("bert", "presence-b")),
            ],
            told: [(4, added("bert", "presence-b")), (3_001, removed("bert")), (3_002, removed("anna", "presence-b"))]),
        Course(
            testDescription: "users are the same by their bytes alone",
            happens: [(0, removed("K")), (1, added("\u{212A}"))], told: [(1, added("\u{212A}")), (3_000, removed("K"))]),
        Course(
            testDescription: "what is due together comes in the order of leaving",
            happens: [(0, removed("anna")), (0, vacated("presence-a")), (0, vacated("b"))],
            told: [(3_000, removed("anna")), (3_000, vacated("presence-a")), (3_000, vacated("b"))]),
    ]

    @Test(arguments: courses) func tellsWhatIsStillSo(_ course: Course) throws {
        var debounce = Debounce()
        var told: [(at: Int64, AppWebhookEvent)] = []
        for (at, notice) in course.happens {
            while let due = debounce.nextDue, due <= at { told += debounce.release(at: due).map { (due, $0) } }
            if let notice = debounce.handle(notice, at: at) { told.append((at, notice)) }
        }
        while let due = debounce.nextDue { told += debounce.release(at: due).map { (due, $0) } }
        #expect(told.map(\.at) == course.told.map(\.at))
        #expect(told.map(\.1) == course.told.map(\.1))
        #expect(debounce.count == 0)
    }

    @Test func whatFindsNoRoomIsToldEarly() {
        var debounce = Debounce()
        for index in 0..<Debounce.capacity { #expect(debounce.handle(vacated("a\(index)"), at: 0) == nil) }
        #expect(debounce.count == Debounce.capacity)
        #expect(debounce.handle(vacated("b"), at: 1) == vacated("b"))
        #expect(debounce.handle(occupied("b"), at: 2) == occupied("b"), "and is not taken back")
        #expect(debounce.handle(occupied("a7"), at: 2) == nil)
        #expect(debounce.handle(vacated("b"), at: 3) == nil, "there is room again")
        #expect(debounce.release(at: 3_000).count == Debounce.capacity - 1)
    }

    /// Who comes and goes all the time must not fill the memory with what he took back.
    @Test func comingAndGoingLeavesNothingBehind() {
        var debounce = Debounce()
        for index in 0..<1_000 {
            #expect(debounce.handle(vacated("a"), at: Int64(index)) == nil)
            #expect(debounce.handle(occupied("a"), at: Int64(index)) == nil)
            #expect(debounce.entries < 100)
        }
        #expect(debounce.count == 0)
        #expect(debounce.release(at: 10_000) == [])
        #expect(debounce.entries == 0)
    }
}
