import PusherProtocol
import Testing

@testable import Webhooks

/// Protocol point V5: a change that is reverted within three seconds causes no webhook.
@Suite struct DebounceTests {
    /// Events and the expected webhooks, by their time in milliseconds.
    struct Scenario: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let input: [(at: Int64, AppWebhookEvent)]
        let expected: [(at: Int64, AppWebhookEvent)]
    }

    private static let scenarios = [
        Scenario(
            testDescription: "all but vacated and removed events are sent at once",
            input: [
                (5, occupied("a")), (5, added("anna")), (6, subscriptionCount(1)),
                (7, AppWebhookEvent(app: 0, .cacheMiss(name("cache-a")))),
            ],
            expected: [
                (5, occupied("a")), (5, added("anna")), (6, subscriptionCount(1)),
                (7, AppWebhookEvent(app: 0, .cacheMiss(name("cache-a")))),
            ]),
        Scenario(
            testDescription: "a vacated event is sent three seconds later",
            input: [(0, occupied("a")), (10, vacated("a"))], expected: [(0, occupied("a")), (3_010, vacated("a"))]),
        Scenario(
            testDescription: "a channel occupied again within three seconds causes neither event",
            input: [(0, occupied("a")), (10, vacated("a")), (3_009, occupied("a")), (9_000, vacated("a"))],
            expected: [(0, occupied("a")), (12_000, vacated("a"))]),
        Scenario(
            testDescription: "a channel occupied again after three seconds causes both events",
            input: [(10, vacated("a")), (3_010, occupied("a"))], expected: [(3_010, vacated("a")), (3_010, occupied("a"))]),
        Scenario(
            testDescription: "the three seconds begin with the last vacated event",
            input: [(0, vacated("a")), (2_000, occupied("a")), (2_500, vacated("a"))], expected: [(5_500, vacated("a"))]),
        Scenario(
            testDescription: "an event of another channel or application cancels nothing",
            input: [(0, vacated("a")), (1, vacated("a", app: 1)), (2, occupied("b")), (3, occupied("a", app: 1))],
            expected: [(2, occupied("b")), (3_000, vacated("a"))]),
        Scenario(
            testDescription: "an event of another user or presence channel cancels nothing",
            input: [
                (0, removed("anna")), (1, removed("bert")), (2, removed("anna", "presence-b")), (3, added("anna")),
                (4, added("bert", "presence-b")),
            ],
            expected: [(4, added("bert", "presence-b")), (3_001, removed("bert")), (3_002, removed("anna", "presence-b"))]),
        Scenario(
            testDescription: "user ids are compared as bytes",
            input: [(0, removed("K")), (1, added("\u{212A}"))], expected: [(1, added("\u{212A}")), (3_000, removed("K"))]),
        Scenario(
            testDescription: "events that are due at the same time keep their order",
            input: [(0, removed("anna")), (0, vacated("presence-a")), (0, vacated("b"))],
            expected: [(3_000, removed("anna")), (3_000, vacated("presence-a")), (3_000, vacated("b"))]),
    ]

    @Test(arguments: scenarios) func sendsOnlyLastingChanges(_ scenario: Scenario) throws {
        var debounce = Debounce()
        var sent: [(at: Int64, AppWebhookEvent)] = []
        for (at, event) in scenario.input {
            while let due = debounce.nextDue, due <= at { sent += debounce.release(at: due).map { (due, $0) } }
            if let event = debounce.handle(event, at: at) { sent.append((at, event)) }
        }
        while let due = debounce.nextDue { sent += debounce.release(at: due).map { (due, $0) } }
        #expect(sent.map(\.at) == scenario.expected.map(\.at))
        #expect(sent.map(\.1) == scenario.expected.map(\.1))
        #expect(debounce.count == 0)
    }

    @Test func sendsVacatedEventsAtOnceAtCapacity() {
        var debounce = Debounce()
        for index in 0..<Debounce.capacity { #expect(debounce.handle(vacated("a\(index)"), at: 0) == nil) }
        #expect(debounce.count == Debounce.capacity)
        #expect(debounce.handle(vacated("b"), at: 1) == vacated("b"))
        #expect(debounce.handle(occupied("b"), at: 2) == occupied("b"), "the vacated event was sent and cannot be cancelled")
        #expect(debounce.handle(occupied("a7"), at: 2) == nil)
        #expect(debounce.handle(vacated("b"), at: 3) == nil, "below capacity again")
        #expect(debounce.release(at: 3_000).count == Debounce.capacity - 1)
    }

    /// A channel that is vacated and occupied again and again must not fill the memory with entries of cancelled
    /// events.
    @Test func cancelledEntriesAreRemoved() {
        var debounce = Debounce()
        for index in 0..<1_000 {
            #expect(debounce.handle(vacated("a"), at: Int64(index)) == nil)
            #expect(debounce.handle(occupied("a"), at: Int64(index)) == nil)
            #expect(debounce.entryCount < 100)
        }
        #expect(debounce.count == 0)
        #expect(debounce.release(at: 10_000) == [])
        #expect(debounce.entryCount == 0)
    }
}
