import Testing

@testable import Webhooks

/// Requests to an endpoint: one at a time, in order, retried for five minutes. `v2` and `v10` in test names are
/// protocol points.
@Suite struct EndpointQueueTests {
    private var queue = EndpointQueue(isBatching: false)

    private mutating func append(_ events: String..., at now: Int64 = 0) {
        for text in events {
            let isQueued = queue.append(event(text), at: now, time: 1_000_000 + now)
            #expect(isQueued)
        }
    }

    /// Appends an event at 0. Returns false if the queue is full.
    private mutating func tryAppend(_ event: [UInt8]) -> Bool { queue.append(event, at: 0, time: 0) }

    /// Sends the request that is due at `now`, and returns its events; nil if none is due.
    private mutating func sent(at now: Int64) -> [String]? {
        if case .send(let request) = queue.next(at: now) { request.events } else { nil }
    }

    @Test mutating func sendsOneEventPerRequest() {
        #expect(queue.next(at: 0) == .idle)
        append("a", "b")
        #expect(sent(at: 0) == [#""a""#])
        #expect(queue.next(at: 99_999) == .idle, "the next request waits for the result, however long it takes")
        #expect(queue.complete(.accepted, at: 7, jitter: 0) == .delivered(1))
        #expect(sent(at: 7) == [#""b""#])
        #expect(queue.depth == 1)
        #expect(queue.complete(.accepted, at: 8, jitter: 0) == .delivered(1))
        #expect(queue.next(at: 8) == .idle)
        #expect(queue.depth == 0)
    }

    @Test mutating func v2BodyHasTimeAndEvents() throws {
        append("a", at: 5)
        guard case .send(let request) = queue.next(at: 9) else { return #expect(Bool(false), "nothing was sent") }
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"time_ms":1000005,"events":["a"]}"#)
    }

    @Test mutating func v10ReattemptsARejectedRequestBeforeLaterEvents() {
        append("a", "b")
        #expect(sent(at: 0) == [#""a""#])
        #expect(queue.complete(.failed, at: 100, jitter: 0.5) == .retrying(1))
        #expect(queue.next(at: 100) == .wait(until: 1_100))
        #expect(queue.next(at: 1_099) == .wait(until: 1_100))
        #expect(sent(at: 1_100) == [#""a""#])
        #expect(queue.complete(.failed, at: 1_200, jitter: 0.5) == .retrying(1))
        #expect(queue.next(at: 1_200) == .wait(until: 3_200))
        #expect(sent(at: 4_000) == [#""a""#])
        #expect(queue.complete(.accepted, at: 4_001, jitter: 0.5) == .delivered(1))
        #expect(sent(at: 4_001) == [#""b""#])
        #expect(queue.complete(.failed, at: 4_100, jitter: 0.5) == .retrying(1))
        #expect(queue.next(at: 4_100) == .wait(until: 5_100), "the next request begins with the shortest delay")
    }

    @Test mutating func v10DropsARequestAfterFiveMinutes() {
        append("a", "b")
        var now: Int64 = 50
        var attempts: [Int64] = []
        while true {
            #expect(sent(at: now) == [#""a""#])
            attempts.append(now)
            // Each attempt is rejected at once.
            guard queue.complete(.failed, at: now, jitter: 0.5) == .retrying(1) else { break }
            guard case .wait(let until) = queue.next(at: now) else { return #expect(Bool(false), "the queue does not wait") }
            now = until
        }
        #expect(attempts.map { ($0 - 50) / 1_000 } == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 300])
        #expect(sent(at: now) == [#""b""#], "the next request has its own five minutes")
        #expect(queue.complete(.failed, at: now + 299_999, jitter: 0) == .retrying(1))
    }

    @Test mutating func dropsARequestThatFailsAfterTheRetryWindow() {
        append("a", "b")
        #expect(sent(at: 0) != nil)
        #expect(queue.complete(.failed, at: 300_000, jitter: 0) == .dropped(1))
        #expect(sent(at: 300_000) == [#""b""#])
    }

    @Test(
        arguments: [
            (1, 0.0, 750), (1, 0.5, 1_000), (2, 0.5, 2_000), (3, 0.5, 4_000), (6, 0.5, 32_000), (7, 0.5, 60_000),
            (8, 0.5, 60_000),
            (1_000, 0.5, 60_000), (8, 0.0, 45_000),
        ] as [(Int, Double, Int64)])
    func delaysDoubleUpToAMinuteWithJitter(attempts: Int, jitter: Double, milliseconds: Int64) {
        #expect(EndpointQueue.delay(after: attempts, jitter: jitter) == milliseconds)
    }

    // MARK: Refused events

    @Test mutating func refusedEventIsDroppedAfterThreeAttempts() {
        append("a", "b")
        #expect(sent(at: 0) == [#""a""#])
        #expect(queue.complete(.refused, at: 0, jitter: 0.5) == .retrying(1))
        #expect(sent(at: 1_000) == [#""a""#])
        #expect(queue.complete(.failed, at: 1_000, jitter: 0.5) == .retrying(1))
        #expect(sent(at: 3_000) == [#""a""#])
        #expect(queue.complete(.refused, at: 3_000, jitter: 0.5) == .retrying(1))
        #expect(sent(at: 7_000) == [#""a""#])
        #expect(queue.complete(.refused, at: 7_000, jitter: 0.5) == .dropped(1))
        #expect(sent(at: 7_000) == [#""b""#] && queue.depth == 1)
        #expect(queue.complete(.refused, at: 7_000, jitter: 0.5) == .retrying(1), "each event has its own three attempts")
    }

    /// Sends what is due until the queue is empty. The endpoint refuses every request that contains one of the events
    /// `refused`.
    /// - Returns: the number of requests, the delivered events, and the number of dropped events.
    private mutating func deliver(refusing refused: Set<String>) -> (requests: Int, delivered: [String], dropped: Int) {
        var (now, requests, dropped): (Int64, Int, Int) = (1_000, 0, 0)
        var delivered: [String] = []
        while true {
            switch queue.next(at: now) {
            case .idle: return (requests, delivered, dropped)
            case .wait(let until): now = until
            case .send(let request):
                requests += 1
                let isRefused = !refused.isDisjoint(with: request.events)
                switch queue.complete(isRefused ? .refused : .accepted, at: now, jitter: 0) {
                case .delivered: delivered += request.events
                case .dropped(let count): dropped += count
                case .retrying: break
                }
            }
        }
    }

    @Test(arguments: [[0], [3], [99], [0, 99], [41, 42, 43], Array(0..<100)])
    mutating func refusedBatchIsSplitUntilTheRefusedEventsAreFound(_ refused: [Int]) {
        queue = EndpointQueue(isBatching: true)
        for number in 0..<100 { append("\(number)") }
        let names = Set(refused.map { "\"\($0)\"" })
        let (requests, delivered, dropped) = deliver(refusing: names)
        #expect(delivered == (0..<100).map { "\"\($0)\"" }.filter { !names.contains($0) }, "the others arrive, in order")
        #expect(dropped == refused.count && queue.depth == 0)
        // Three attempts of the batch; then two requests per halving, of which seven lead to each refused event.
        #expect(requests <= 3 + 14 * refused.count)
    }

    @Test mutating func partsOfABatchPauseAndAreRetriedIfTheEndpointFails() {
        queue = EndpointQueue(isBatching: true)
        append("a", "b", "c")
        for now in [1_000, 2_000, 4_000] as [Int64] {
            #expect(sent(at: now)?.count == 3)
            #expect(queue.complete(.refused, at: now, jitter: 0.5) == .retrying(3))
        }
        append("d", at: 4_000)
        #expect(queue.next(at: 4_000) == .wait(until: 4_100) && queue.depth == 4)
        #expect(sent(at: 4_100) == [#""a""#])
        #expect(queue.complete(.failed, at: 4_100, jitter: 0.5) == .retrying(1))
        #expect(sent(at: 5_100) == [#""a""#])
        #expect(queue.complete(.refused, at: 5_100, jitter: 0.5) == .dropped(1))
        #expect(sent(at: 5_100) == [#""b""#, #""c""#], "without later events")
        #expect(queue.complete(.accepted, at: 5_100, jitter: 0.5) == .delivered(2))
        #expect(sent(at: 5_100) == [#""d""#])
    }

    // MARK: Batches

    @Test mutating func batchLingersForASecond() {
        queue = EndpointQueue(isBatching: true)
        append("a", at: 0)
        #expect(queue.next(at: 0) == .wait(until: 1_000))
        append("b", at: 999)
        guard case .send(let request) = queue.next(at: 1_000) else { return #expect(Bool(false), "nothing was sent") }
        #expect(request.events == [#""a""#, #""b""#])
        #expect(request.time == "1000999", "the time of the last event")
        #expect(queue.complete(.accepted, at: 1_001, jitter: 0) == .delivered(2))
    }

    @Test mutating func eventsDuringARequestFormOneBatch() {
        queue = EndpointQueue(isBatching: true)
        append("a", at: 0)
        #expect(sent(at: 1_000) == [#""a""#])
        append("b", "c", at: 1_100)
        #expect(queue.complete(.failed, at: 1_200, jitter: 0.5) == .retrying(1))
        #expect(sent(at: 2_200) == [#""a""#], "the same bytes again, without later events")
        #expect(queue.complete(.accepted, at: 2_300, jitter: 0) == .delivered(1))
        #expect(sent(at: 2_300) == [#""b""#, #""c""#])
    }

    @Test mutating func fullBatchIsSentAtOnce() {
        queue = EndpointQueue(isBatching: true)
        for index in 0...EndpointQueue.batchEventsMax { append("\(index)", at: 0) }
        #expect(sent(at: 0)?.count == EndpointQueue.batchEventsMax)
        #expect(queue.complete(.accepted, at: 0, jitter: 0) == .delivered(EndpointQueue.batchEventsMax))
        #expect(queue.next(at: 0) == .wait(until: 1_000), "the remaining event lingers")
    }

    @Test mutating func batchIsLimitedInBytes() {
        queue = EndpointQueue(isBatching: true)
        let half = EndpointQueue.batchBytesMax / 2
        for text in ["a", "b", "c"] {
            #expect(tryAppend(event(text, bytes: half)))
        }
        #expect(sent(at: 0)?.count == 2)
        _ = queue.complete(.accepted, at: 0, jitter: 0)
        #expect(tryAppend(event("d", bytes: 3 * half)))
        #expect(sent(at: 0)?.count == 1)
        _ = queue.complete(.accepted, at: 0, jitter: 0)
        #expect(sent(at: 0)?.count == 1, "an event that is larger than the limit is sent alone")
    }

    @Test mutating func stopLingeringSendsABatchAtOnce() {
        queue = EndpointQueue(isBatching: true)
        append("a")
        queue.stopLingering()
        #expect(sent(at: 0) == [#""a""#])
    }

    // MARK: Bounds

    @Test mutating func dropsNewEventsAtTheLimit() {
        for index in 0..<EndpointQueue.eventsMaxDefault { append("\(index)") }
        #expect(!tryAppend(event("more")))
        #expect(sent(at: 0) == [#""0""#])
        #expect(!tryAppend(event("more")), "the event in flight counts")
        _ = queue.complete(.accepted, at: 0, jitter: 0)
        append("last")
        #expect(queue.depth == EndpointQueue.eventsMaxDefault)
        for index in 1..<EndpointQueue.eventsMaxDefault {
            #expect(sent(at: 0) == ["\"\(index)\""])
            _ = queue.complete(.accepted, at: 0, jitter: 0)
        }
        #expect(sent(at: 0) == [#""last""#])
    }

    @Test mutating func queueIsLimitedInBytes() {
        let large = EndpointQueue.bytesMax / 4
        for text in ["a", "b", "c", "d"] {
            #expect(tryAppend(event(text, bytes: large)))
        }
        #expect(!tryAppend(event("e")))
        #expect(!queue.isHalfFree)
        for _ in 0..<2 {
            #expect(sent(at: 0) != nil)
            _ = queue.complete(.accepted, at: 0, jitter: 0)
        }
        #expect(queue.isHalfFree)
        append("e")
    }
}
