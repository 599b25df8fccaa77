import PusherProtocol
import Testing

@testable import Webhooks

/// How events are distributed to the endpoints and counted, and what is reported for the log.
@Suite struct WebhookQueuesTests {
    private var queues = WebhookQueues([endpoint()])

    private func moment(_ now: Int64) -> WebhookQueues.Moment { WebhookQueues.Moment(now: now, time: 1_000_000 + now) }

    /// Sends the requests that are due at `now`, and returns their events by endpoint.
    private mutating func sent(at now: Int64) -> [Int: [String]] {
        var sent: [Int: [String]] = [:]
        _ = queues.send(at: now) { sent[$0] = $1.events }
        return sent
    }

    private func json(_ event: AppWebhookEvent) -> String { String(decoding: event.event.json, as: UTF8.self) }

    @Test mutating func endpointsReceiveTheirApplicationsEventsOfTheirKinds() {
        queues = WebhookQueues([
            endpoint(app: 0, batch: true), endpoint(app: 0, events: [.channelOccupied], batch: true),
            endpoint(app: 1, batch: true), endpoint(app: 1, events: [.other(0)], batch: true),
        ])
        queues.handle(occupied("a"), at: moment(0))
        queues.handle(subscriptionCount(1), at: moment(1))
        queues.handle(occupied("b", app: 1), at: moment(2))
        queues.handle(occupied("c", app: 2), at: moment(3))
        #expect(
            sent(at: 2_000) == [
                0: [json(occupied("a")), json(subscriptionCount(1))], 1: [json(occupied("a"))], 2: [json(occupied("b", app: 1))],
            ])
        #expect(queues.depth == 4)
    }

    @Test mutating func debounceAppliesToEndpointsWithOnlyOneOfTheOppositeKinds() {
        queues = WebhookQueues([endpoint(events: .channelOccupied), endpoint(events: .channelVacated)])
        queues.handle(vacated("a"), at: moment(0))
        queues.handle(occupied("a"), at: moment(1_000))
        #expect(sent(at: 1_000) == [:])
        queues.handle(vacated("a"), at: moment(2_000))
        queues.advance(to: moment(4_999))
        #expect(sent(at: 4_999) == [:])
        queues.advance(to: moment(5_000))
        #expect(sent(at: 5_000) == [1: [json(vacated("a"))]])
    }

    @Test mutating func queuesEdgesThatTheCallerHasDebouncedAtOnce() {
        queues = WebhookQueues([endpoint(batch: true)], debounces: false)
        for event in [vacated("a"), occupied("a")] { queues.handle(event, at: moment(0)) }
        #expect(sent(at: 1_000) == [0: [json(vacated("a")), json(occupied("a"))]])
    }

    @Test mutating func returnsTheNextDueTime() {
        queues = WebhookQueues([endpoint(batch: true), endpoint()])
        #expect(queues.send(at: 0) { _, _ in } == nil)
        queues.handle(vacated("a"), at: moment(0))
        #expect(queues.send(at: 0) { _, _ in } == 3_000)
        queues.handle(occupied("b"), at: moment(500))
        #expect(queues.send(at: 500) { _, _ in } == 1_500)
        queues.complete(1, .failed("HTTP 500"), at: 600, jitter: 0.5)
        #expect(queues.send(at: 600) { _, _ in } == 1_500)
        #expect(queues.send(at: 1_500) { _, _ in } == 1_600)
    }

    @Test mutating func slowEndpointDoesNotDelayOthers() {
        queues = WebhookQueues([endpoint(), endpoint()])
        for number in 1...3 { queues.handle(subscriptionCount(number), at: moment(0)) }
        #expect(sent(at: 0) == [0: [json(subscriptionCount(1))], 1: [json(subscriptionCount(1))]])
        for number in 2...3 {
            queues.complete(1, .accepted, at: 10, jitter: 0)
            #expect(sent(at: 10) == [1: [json(subscriptionCount(number))]])
        }
    }

    @Test mutating func reportsFailureOnceAndRecovery() {
        let label = "https://backend.test (webhook 1 of key1)"
        queues.handle(subscriptionCount(1), at: moment(0))
        queues.handle(subscriptionCount(2), at: moment(0))
        _ = sent(at: 0)
        queues.complete(0, .failed("HTTP 500"), at: 0, jitter: 0)
        #expect(queues.drainReports() == [.failing(label, reason: "HTTP 500")])
        _ = sent(at: 5_000)
        queues.complete(0, .failed("HTTP 501"), at: 5_000, jitter: 0)
        #expect(queues.drainReports() == [])
        _ = sent(at: 300_000)
        queues.complete(0, .failed("HTTP 502"), at: 300_000, jitter: 0)
        #expect(queues.drainReports() == [.dropped(label, events: 1, reason: "HTTP 502")])
        _ = sent(at: 300_000)
        queues.complete(0, .accepted, at: 300_000, jitter: 0)
        #expect(queues.drainReports() == [.recovered(label)])
        #expect(queues.counts.delivered == 1 && queues.counts.retried == 2 && queues.counts.dropped == 1)
    }

    @Test(
        arguments: [
            (200, .accepted), (204, .accepted), (301, .failed), (400, .refused), (401, .refused), (404, .refused),
            (408, .failed), (410, .refused), (413, .refused), (422, .refused), (425, .failed), (429, .failed), (499, .refused),
            (500, .failed), (503, .failed),
        ] as [(Int, EndpointQueue.Response)])
    func statusTellsWhetherAnotherAttemptMaySucceed(_ status: Int, _ response: EndpointQueue.Response) {
        #expect(WebhookQueues.Result(status: status).response == response)
    }

    @Test mutating func reportsARefusedEvent() {
        let label = "https://backend.test (webhook 1 of key1)"
        queues.handle(subscriptionCount(1), at: moment(0))
        for now in [0, 5_000, 10_000] as [Int64] {
            #expect(sent(at: now).count == 1)
            queues.complete(0, .refused("HTTP 422"), at: now, jitter: 0)
        }
        #expect(
            queues.drainReports()
                == [.failing(label, reason: "HTTP 422"), .dropped(label, events: 1, reason: "HTTP 422")])
        #expect(queues.counts.retried == 2 && queues.counts.dropped == 1 && queues.isEmpty)
    }

    @Test mutating func reportsAFullQueueOncePerEpisode() {
        queues = WebhookQueues([endpoint(events: .channelOccupied), endpoint()], eventsMax: 4)
        let label = "https://backend.test (webhook 2 of key1)"
        for number in 1...7 { queues.handle(subscriptionCount(number), at: moment(0)) }
        #expect(queues.counts.refused == 3)
        #expect(queues.drainReports() == [.full(label)])
        // The queue has room for one event only, so the episode continues: it ends when at least half of the queue is
        // free.
        _ = sent(at: 0)
        queues.complete(1, .accepted, at: 0, jitter: 0)
        for number in 8...9 { queues.handle(subscriptionCount(number), at: moment(0)) }
        #expect(queues.drainReports() == [])
        for _ in 1...3 {
            _ = sent(at: 0)
            queues.complete(1, .accepted, at: 0, jitter: 0)
        }
        queues.handle(subscriptionCount(10), at: moment(0))
        #expect(queues.drainReports() == [.hasRoom(label, refused: 4)])
        #expect(queues.counts.refused == 4)
    }

    @Test mutating func closeSendsDelayedEventsWithoutLingering() {
        queues = WebhookQueues([endpoint(batch: true)])
        queues.handle(vacated("a"), at: moment(0))
        queues.handle(subscriptionCount(1), at: moment(0))
        #expect(!queues.isEmpty)
        queues.close(at: moment(1))
        #expect(sent(at: 1) == [0: [json(subscriptionCount(1)), json(vacated("a"))]])
        #expect(!queues.isEmpty)
        queues.complete(0, .accepted, at: 2, jitter: 0)
        #expect(queues.isEmpty)
    }

    @Test mutating func abandonCountsDelayedEvents() {
        queues = WebhookQueues([endpoint(), endpoint(events: .memberAdded)])
        queues.close(at: moment(0))
        queues.handle(vacated("a"), at: moment(0))
        queues.abandon(at: moment(1))
        #expect(queues.counts.dropped == 1 && queues.isEmpty)
        #expect(
            queues.drainReports()
                == [.dropped("https://backend.test (webhook 1 of key1)", events: 1, reason: "the gateway stops")])
    }

    @Test mutating func abandonCountsQueuedEvents() {
        queues = WebhookQueues([endpoint(), endpoint(events: .memberAdded)])
        for number in 1...3 { queues.handle(subscriptionCount(number), at: moment(0)) }
        _ = sent(at: 0)
        queues.abandon(at: moment(0))
        #expect(queues.counts.dropped == 3)
        #expect(
            queues.drainReports()
                == [.dropped("https://backend.test (webhook 1 of key1)", events: 3, reason: "the gateway stops")])
    }

    @Test(arguments: [
        ("https://backend.test/hooks", "https://backend.test"), ("http://10.0.0.1:8080", "http://10.0.0.1:8080"),
        ("https://hooks.test/services/T0/B0/secret", "https://hooks.test"), ("https://a.test?token=secret", "https://a.test"),
        ("https://a.test#secret", "https://a.test"), ("https://anna:secret@a.test:8443/x@y", "https://a.test:8443"),
        ("http://[::1]:80/x", "http://[::1]:80"), ("secret", ""),
    ])
    func originIsSchemeHostAndPortWithoutSecrets(url: String, origin: String) {
        #expect(endpoint(url).origin == origin)
    }
}
