import PusherProtocol
import TestSupport
import Testing

@testable import Webhooks

/// Seeded simulation of the queues: each event is delivered exactly once and in order, or counted as dropped or
/// refused.
@Suite struct ReplaySimulationTests {
    @Test func everyEventIsAccountedFor() throws {
        var totals = WebhookCounts()
        for seed in UInt64(1)...150 {
            var simulation = Simulation(seed: seed)
            try simulation.run(steps: 400)
            totals.delivered += simulation.queues.counts.delivered
            totals.retried += simulation.queues.counts.retried
            totals.dropped += simulation.queues.counts.dropped
            totals.refused += simulation.queues.counts.refused
        }
        // The seeds must cause each of the four results often enough to test it.
        #expect(totals.delivered > 10_000 && totals.retried > 5_000 && totals.dropped > 500 && totals.refused > 1_000)
    }
}

/// The simulation of one seed: endpoints that fail at random, channels that change, and the events that each endpoint
/// must receive.
private struct Simulation {
    /// An endpoint, the events that it must receive, and those that it has received.
    private struct EndpointModel {
        let endpoint: WebhookEndpoint
        /// Percent of requests that the endpoint accepts.
        var acceptance: Int
        /// All events that the endpoint must receive, in order. Events that were refused because the endpoint's queue
        /// was full are not among them.
        var expected: [String] = []
        /// The number of expected events that were delivered or dropped.
        var completed = 0
        /// The request that is in flight or waits for a retry, the times of its first and last attempt, and the number of
        /// refusals.
        var request: (events: [String], firstAttempt: Int64, lastAttempt: Int64, refusals: Int)?
        /// The number of events of a split batch that are not completed.
        var left = 0
        var isInFlight = false
        var delivered = 0
        var dropped = 0
    }

    private struct DelayedEvent {
        let event: AppWebhookEvent
        let due: Int64
    }

    var queues: WebhookQueues
    private var endpoints: [EndpointModel] = []
    private var rng: SplitMix
    private var now: Int64 = 0
    private let eventsMax: Int
    /// The occupied channels, as `APP CHANNEL`.
    private var occupied: Set<String> = []
    /// Vacated events that are not sent yet, because their three seconds are not over. The oldest is first.
    private var delayed: [DelayedEvent] = []
    /// The count in the last `subscription_count` event. Each such event has another count, so that no two are equal.
    private var lastCount = 0
    private var refused = 0

    init(seed: UInt64) {
        var rng = SplitMix(seed: seed)
        let filters: [WebhookKinds] = [.all, .all, .occupancy, .channelVacated, [.subscriptionCount, .channelOccupied]]
        let acceptances = [100, 95, 50, 0]
        eventsMax = rng.below(2) == 0 ? 10_000 : 1 + rng.below(40)
        for _ in 0...rng.below(4) {
            let endpoint = endpoint(app: rng.below(2), events: filters[rng.below(5)], batch: rng.below(2) == 0)
            endpoints.append(EndpointModel(endpoint: endpoint, acceptance: acceptances[rng.below(4)]))
        }
        queues = WebhookQueues(endpoints.map(\.endpoint), eventsMax: eventsMax)
        self.rng = rng
    }

    mutating func run(steps: Int) throws {
        for _ in 0..<steps {
            switch rng.below(10) {
            case 0...4: changeAChannel()
            case 5...7: completeSome()
            case 8: now += Int64(rng.below(4_000))
            default:
                now += Int64(rng.below(rng.below(5) == 0 ? 200_000 : 100))
                if rng.below(30) == 0 { endpoints[rng.below(endpoints.count)].acceptance = [100, 95, 50, 0][rng.below(4)] }
            }
            release()
            queues.advance(to: moment)
            try send()
        }
        for index in endpoints.indices { endpoints[index].acceptance = 100 }  // except for refused events
        queues.close(at: moment)
        for delayedEvent in delayed { expect(delayedEvent.event) }
        while !queues.isEmpty {
            try send()
            completeSome()
            now += 1_000
        }
        for endpoint in endpoints { try #require(endpoint.completed == endpoint.expected.count && endpoint.request == nil) }
        let counts = queues.counts
        try #require(counts.delivered == endpoints.reduce(0) { $0 + $1.delivered })
        try #require(counts.dropped == endpoints.reduce(0) { $0 + $1.dropped } && counts.refused == refused)
    }

    private var moment: WebhookQueues.Moment { WebhookQueues.Moment(now: now, time: now) }

    // MARK: Events

    /// Occupies or vacates a channel, or changes its subscription count.
    private mutating func changeAChannel() {
        let (app, channel) = (rng.below(2), "c\(rng.below(4))")
        let key = "\(app) \(channel)"
        release()
        guard rng.below(3) > 0 else {
            lastCount += 1
            let event = AppWebhookEvent(app: app, .subscriptionCount(name(channel), lastCount))
            expect(event)
            return queues.handle(event, at: moment)
        }
        if occupied.remove(key) != nil {
            delayed.append(DelayedEvent(event: vacated(channel, app: app), due: now + 3_000))
            queues.handle(vacated(channel, app: app), at: moment)
        } else {
            occupied.insert(key)
            let cancelled = delayed.firstIndex { $0.event == vacated(channel, app: app) }
            if let cancelled { delayed.remove(at: cancelled) } else { expect(WebhooksTests.occupied(channel, app: app)) }
            queues.handle(WebhooksTests.occupied(channel, app: app), at: moment)
        }
    }

    /// Expects the delayed events that are due.
    private mutating func release() {
        while let first = delayed.first, first.due <= now { expect(delayed.removeFirst().event) }
    }

    /// Adds the event to the expected events of each endpoint that is configured for it, unless the endpoint's queue is
    /// full.
    private mutating func expect(_ event: AppWebhookEvent) {
        for index in endpoints.indices {
            let endpoint = endpoints[index].endpoint
            guard endpoint.appIndex == event.app, endpoint.events.contains(event.event.kind) else { continue }
            if endpoints[index].expected.count - endpoints[index].completed < eventsMax {
                endpoints[index].expected.append(String(decoding: event.event.json, as: UTF8.self))
            } else {
                refused += 1
            }
        }
    }

    // MARK: Requests

    private mutating func send() throws {
        var sent: [(index: Int, request: WebhookRequest)] = []
        _ = queues.send(at: now) { sent.append(($0, $1)) }
        for (index, request) in sent { try receive(request, index) }
    }

    private mutating func receive(_ request: WebhookRequest, _ index: Int) throws {
        try #require(!endpoints[index].isInFlight, "one request at a time")
        endpoints[index].isInFlight = true
        let events = request.events
        let next = endpoints[index].expected.dropFirst(endpoints[index].completed).prefix(events.count)
        try #require(!events.isEmpty && events == Array(next), "the next expected events, in order")
        try #require(endpoints[index].endpoint.batch ? events.count <= 100 : events.count == 1)
        guard let before = endpoints[index].request else {
            let left = endpoints[index].left
            try #require(left == 0 || events.count <= left, "a part of a batch is sent without later events")
            endpoints[index].request = (events, now, now, left > 0 ? 3 : 0)
            return
        }
        try #require(before.events == events, "a retry has the same events")
        try #require(now - before.lastAttempt >= 750, "a retry waits for at least 750 ms")
        endpoints[index].request?.lastAttempt = now
    }

    /// Whether all endpoints refuse requests with this event.
    private static func isRefused(_ event: String) -> Bool { event.hasSuffix("7}") }

    /// Completes some requests in flight.
    private mutating func completeSome() {
        for index in endpoints.indices where endpoints[index].isInFlight && rng.below(3) > 0 {
            guard let request = endpoints[index].request else { continue }
            let isRefused = request.events.contains(where: Self.isRefused)
            let isAccepted = !isRefused && rng.below(100) < endpoints[index].acceptance
            queues.complete(
                index, isAccepted ? .accepted : isRefused ? .refused("HTTP 400") : .failed("HTTP 500"), at: now,
                jitter: Double(rng.below(100)) / 100)
            endpoints[index].isInFlight = false
            let count = request.events.count
            let refusals = request.refusals + (isRefused ? 1 : 0)
            endpoints[index].request?.refusals = refusals
            if isRefused, refusals >= 3, count > 1 {
                endpoints[index].left = max(count, endpoints[index].left)
                endpoints[index].request = nil
                continue
            }
            guard isAccepted || (isRefused && refusals >= 3) || now >= request.firstAttempt + 300_000 else { continue }
            endpoints[index].completed += count
            endpoints[index].left = max(0, endpoints[index].left - count)
            endpoints[index].request = nil
            if isAccepted { endpoints[index].delivered += count } else { endpoints[index].dropped += count }
        }
    }
}

extension SplitMix {
    fileprivate mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
}
