import Glibc
import Testing
import Threads

@testable import Webhooks

/// The worker's thread. Here no endpoint responds; the end-to-end tests have a server.
@Suite struct WebhookWorkerTests {
    private let reports = Lock<[WebhookReport]>([])

    private func worker(_ endpoints: [WebhookEndpoint], _ onReport: @escaping @Sendable (WebhookReport) -> Void = { _ in })
        -> WebhookWorker
    {
        let reports = reports
        return WebhookWorker(
            endpoints: endpoints,
            WebhookWorker.Environment { report in
                reports.withLock { $0.append(report) }
                onReport(report)
            })
    }

    @Test func withoutEndpointsIgnoresEvents() {
        let worker = worker([])
        worker.post(subscriptionCount(1))
        #expect(worker.kindsWanted(by: 0) == [] && worker.inbox.depth == 0)
        worker.stop(withinSeconds: 60)
        worker.stop(withinSeconds: 60)
        #expect(worker.statistics == WebhookWorker.Statistics())
    }

    @Test func wantsTheKindsOfItsEndpointsAndTheirOpposites() {
        let worker = worker([
            endpoint(app: 0, events: .channelVacated), endpoint(app: 0, events: .cacheMiss),
            endpoint(app: 1, events: .memberAdded),
        ])
        #expect(worker.kindsWanted(by: 0) == [.occupancy, .cacheMiss])
        #expect(worker.kindsWanted(by: 1) == .membership)
        #expect(worker.kindsWanted(by: 2) == [])
        worker.stop(withinSeconds: 0)
    }

    /// The worker's time is twenty times as fast, and it is woken all the time, so that it waits for nothing else.
    @Test func unreachableEndpointIsTriedMoreOftenThanOneThatRefuses() {
        let start = Clock.monotonicMilliseconds()
        var environment = WebhookWorker.Environment { _ in }
        environment.monotonicMilliseconds = { start + (Clock.monotonicMilliseconds() - start) * 20 }
        let unreachable = WebhookEndpoint(
            appIndex: 0, key: "key1", secret: "secret1", url: "http://127.0.0.1:9/", events: .all, batch: false,
            allowsPrivate: true)
        let worker = WebhookWorker(endpoints: [unreachable], environment)
        worker.post(subscriptionCount(1))
        while worker.statistics.counts.retried <= EndpointQueue.refusalsMax, worker.statistics.counts.dropped == 0,
            Clock.monotonicMilliseconds() < start + 10_000
        {
            worker.inbox.wake()
            sched_yield()
        }
        let counts = worker.statistics.counts
        #expect(counts.retried > EndpointQueue.refusalsMax && counts.dropped == 0)
        worker.stop(withinSeconds: 0)
    }

    /// Nothing listens on port 9, so connections are refused.
    @Test func stopDropsAndCountsUnsentEvents() {
        let failed = StartBarrier(1)
        failed.open()  // in advance: `arriveAndWait` then signals the failure without blocking the worker
        let unreachable = WebhookEndpoint(
            appIndex: 0, key: "key1", secret: "secret1", url: "http://127.0.0.1:9/", events: .subscriptionCount, batch: false,
            allowsPrivate: true)
        let worker = worker([unreachable]) { if case .failing = $0 { failed.arriveAndWait() } }
        for number in 1...3 { worker.post(subscriptionCount(number)) }
        worker.post(occupied("unwanted"))
        failed.waitForArrival()
        worker.stop(withinSeconds: 0)
        let statistics = worker.statistics
        #expect(statistics.counts.dropped == 3 && statistics.counts.retried > 0 && statistics.counts.delivered == 0)
        #expect(statistics.depth == 0)
        let dropped = WebhookReport.dropped("http://127.0.0.1:9 (webhook 1 of key1)", events: 3, reason: "the gateway stops")
        #expect(reports.withLock { $0.last } == dropped)
    }

    @Test func abortDrainEndsAStop() {
        let failed = StartBarrier(1)
        failed.open()  // in advance, as above
        let unreachable = WebhookEndpoint(
            appIndex: 0, key: "key1", secret: "secret1", url: "http://127.0.0.1:9/", events: .all, batch: false,
            allowsPrivate: true)
        let worker = worker([unreachable]) { if case .failing = $0 { failed.arriveAndWait() } }
        worker.post(subscriptionCount(1))
        failed.waitForArrival()
        // Without the abort, the worker would retry for five minutes.
        let other = Thread(name: "abort") { worker.abortDrain() }
        worker.stop(withinSeconds: 3_600)
        other.join()
        #expect(worker.statistics.counts.dropped == 1)
    }

    /// The gateway closes its connections after the abort. These closes cause further events.
    @Test func eventsAfterAbortDrainAreDroppedAndCounted() {
        let unreachable = WebhookEndpoint(
            appIndex: 0, key: "key1", secret: "secret1", url: "http://127.0.0.1:9/", events: .all, batch: true,
            allowsPrivate: true)
        let worker = worker([unreachable])
        worker.abortDrain()
        for number in 1...3 { worker.post(subscriptionCount(number)) }
        worker.post(vacated("a"))
        worker.stop(withinSeconds: 3_600)
        #expect(worker.statistics.counts.dropped == 4 && worker.inbox.depth == 0)
        let dropped = WebhookReport.dropped("http://127.0.0.1:9 (webhook 1 of key1)", events: 4, reason: "the gateway stops")
        #expect(reports.withLock { $0.last } == dropped)
    }
}
