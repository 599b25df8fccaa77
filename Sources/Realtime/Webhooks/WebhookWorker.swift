import Crypto
import Glibc
import HTTPClient
import Primitives
import PusherProtocol
import Threads

/// Sends webhooks: one thread and one connection pool for all endpoints.
///
/// ``WebhookQueues`` decides what to send and when, the worker sends it. ``post(_:)`` never blocks.
package final class WebhookWorker: Sendable {
    /// The log callback, the clocks and the time-out, which tests replace.
    package struct Environment: Sendable {
        /// Logs a report; called on the worker's thread.
        package var report: @Sendable (WebhookReport) -> Void
        /// The monotonic clock in milliseconds.
        package var monotonicMilliseconds: @Sendable () -> Int64 = Clock.monotonicMilliseconds
        /// The wall clock in milliseconds since 1970.
        package var unixMilliseconds: @Sendable () -> Int64 = Clock.unixMilliseconds
        /// The time limit of a request.
        package var timeoutMilliseconds = Int(Timing.webhookRequestMax)

        package init(report: @escaping @Sendable (WebhookReport) -> Void) { self.report = report }
    }

    /// Counters and queue depth, for metrics.
    package struct Statistics: Equatable, Sendable {
        /// The counts since the start.
        package internal(set) var counts = WebhookCounts()
        /// The number of events that are queued or in flight, over all endpoints.
        package internal(set) var depth = 0
    }

    private struct StopRequest {
        /// Set when no further events will be posted. The worker must not end earlier, or it would lose later events.
        var isRequested = false
        /// When to end at the latest, in monotonic milliseconds.
        var deadline = Int64.max
    }

    /// The gateway's hub, which knows who is in which channel, appends its events here.
    package let inbox = WebhookInbox()
    /// By application index, the result of ``kindsWanted(by:)``.
    private let kinds: [Int: WebhookKinds]
    private let debounces: Bool
    private let environment: Environment
    /// The ``statistics`` without the events that the inbox dropped.
    private let latestStatistics = Lock(Statistics())
    private let stopRequest = Lock(StopRequest())
    private let thread = Lock<Thread?>(nil)

    /// Starts the thread if there is at least one endpoint.
    /// - Parameter debounces: whether edges are debounced here. In a cluster, the keeper of a channel does it.
    package init(endpoints: [WebhookEndpoint], debounces: Bool = true, _ environment: Environment) {
        self.debounces = debounces
        self.environment = environment
        kinds = endpoints.reduce(into: [:]) { $0[$1.appIndex, default: []].formUnion($1.events.withCounterparts) }
        guard !endpoints.isEmpty else { return }
        let started = Thread(name: "webhooks") { [self] in WorkerLoop(self, endpoints).run() }
        thread.withLock { $0 = started }
    }

    /// The kinds of events to post for an application: those that its endpoints are configured for, and their
    /// counterparts, which may cancel them (see ``Debounce``).
    /// - Parameter app: the application's index in the configuration.
    package func kindsWanted(by app: Int) -> WebhookKinds { kinds[app, default: []] }

    /// Posts an event, from any thread. Ignores it if its kind is not in ``kindsWanted(by:)``. Never blocks; drops and
    /// counts the event if the inbox is full.
    package func post(_ event: AppWebhookEvent) {
        guard kindsWanted(by: event.app).contains(event.event.kind), inbox.append(event) else { return }
        inbox.wake()
    }

    /// Counts and queue depth at the end of the worker's last turn. Events that the inbox dropped count as refused.
    package var statistics: Statistics {
        var statistics = latestStatistics.withLock { $0 }
        statistics.counts.refused += inbox.refusals
        return statistics
    }

    /// Sends the posted events for at most `seconds`, then ends the thread; unsent events are dropped and counted.
    /// Delayed events are sent at once, because no client can reconnect any more. Blocks until the thread has ended.
    /// - Precondition: no further events are posted.
    package func stop(withinSeconds seconds: Int) {
        stopRequest.withLock {
            $0.isRequested = true
            $0.deadline = min($0.deadline, milliseconds + Int64(seconds) * 1_000)
        }
        inbox.wake()
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        thread?.join()
    }

    /// Blocks until no event is queued or in flight, or until a time; ``abortDrain()`` ends it at once. The thread goes on.
    /// - Parameter end: monotonic milliseconds.
    package func waitUntilSent(until end: Int64) {
        // What a turn has just taken from the inbox is not seen here: ``stop(withinSeconds:)`` waits for it.
        while inbox.depth > 0 || latestStatistics.withLock({ $0.depth > 0 }) {
            guard milliseconds < min(end, stopRequest.withLock { $0.deadline }) else { return }
            usleep(10_000)
        }
    }

    /// Makes the current or a later ``stop(withinSeconds:)`` end at once. Any thread may call it.
    package func abortDrain() {
        stopRequest.withLock { $0.deadline = milliseconds }
        inbox.wake()
    }

    private var milliseconds: Int64 { environment.monotonicMilliseconds() }
}

extension WebhookWorker {
    /// The state that the worker's thread owns, and its loop.
    private final class WorkerLoop {
        private let worker: WebhookWorker
        private let endpoints: [WebhookEndpoint]
        private let keys: [HMACKey]
        private let pool: HTTPPool
        private var queues: WebhookQueues
        private var batch: [AppWebhookEvent] = []
        private var isClosing = false
        /// The value of ``WebhookInbox/refusals`` in the last report, and when the next report is allowed: at most one
        /// is made per second.
        private var reported = (refusals: 0, nextAt: Int64(0))

        init(_ worker: WebhookWorker, _ endpoints: [WebhookEndpoint]) {
            self.worker = worker
            self.endpoints = endpoints
            keys = endpoints.map { HMACKey(secret: $0.secret) }
            queues = WebhookQueues(endpoints, debounces: worker.debounces)
            var options = HTTPPool.Options()
            // Each endpoint has at most one request in flight. Endpoints may share a host, and a slow endpoint must not
            // delay the others.
            options.connectionsPerHost = endpoints.count
            options.timeoutMilliseconds = worker.environment.timeoutMilliseconds
            options.idleSecondsMax = 60
            // The status is all that counts. A body of this size is read to its end, so that the connection can be reused.
            options.responseBytesMax = 16_384
            options.needsOnlyStatus = true
            options.allowsPrivateAddresses = false
            options.allowsPlainHTTP = true
            pool = HTTPPool(options)
        }

        func run() {
            let waker = pool.waker
            worker.inbox.connect { waker.wake() }
            // The first turn comes before the first wait: events may have been posted before the inbox was connected.
            while let milliseconds = turn() { pool.wait(milliseconds: milliseconds) }
            _ = pool.retire()
            queues.abandon(at: moment)
            publish()
        }

        /// Performs all work that is due.
        /// - Returns: how many milliseconds to wait for an event before the next turn; nil to end the thread.
        private func turn() -> Int? {
            let stop = worker.stopRequest.withLock { $0 }
            drainInbox()
            if stop.isRequested, !isClosing {
                isClosing = true
                queues.close(at: moment)
            }
            for completion in pool.perform() { handle(completion) }
            var hasSent = false
            let now = worker.milliseconds
            let next = queues.send(at: now) { endpoint, request in
                start(request, to: endpoint)
                hasSent = true
            }
            publish()
            if stop.isRequested, now >= stop.deadline || queues.isEmpty { return nil }
            // Requests started in this turn are sent by `pool.perform()` in the next one, so do not wait.
            guard !hasSent else { return 0 }
            let wake = min(next ?? .max, stop.isRequested ? stop.deadline : .max)
            return Int(min(max(0, wake - now), 60_000))
        }

        private var moment: WebhookQueues.Moment {
            WebhookQueues.Moment(now: worker.milliseconds, time: worker.environment.unixMilliseconds())
        }

        private func drainInbox() {
            worker.inbox.drain(into: &batch)
            let moment = moment
            for event in batch { queues.handle(event, at: moment) }
            queues.advance(to: moment)
        }

        private func start(_ request: WebhookRequest, to index: Int) {
            let endpoint = endpoints[index]
            let headers = [
                ("Content-Type", "application/json"), ("X-Pusher-Key", endpoint.key),
                ("X-Pusher-Signature", keys[index].signature(of: request.body)),
            ]
            let httpRequest = HTTPClientRequest(.post, endpoint.url, headers: headers, body: request.body)
            pool.start(httpRequest, tag: index, allowsPrivateAddresses: endpoint.allowsPrivate)
        }

        private func handle(_ completion: HTTPPool.Completion) {
            let result: WebhookQueues.Result =
                switch completion.result {
                case .success(let response): .init(status: response.status)
                case .failure(let error): .failed(error.description)
                }
            queues.complete(completion.tag, result, at: worker.milliseconds, jitter: Double.random(in: 0..<1))
        }

        private func publish() {
            let statistics = Statistics(counts: queues.counts, depth: queues.depth)
            worker.latestStatistics.withLock { $0 = statistics }
            for report in queues.drainReports() { worker.environment.report(report) }
            let (refusals, now) = (worker.inbox.refusals, worker.milliseconds)
            guard refusals > reported.refusals, now >= reported.nextAt || isClosing else { return }
            worker.environment.report(.overrun(refused: refusals - reported.refusals))
            reported = (refusals, now + 1_000)
        }
    }
}
