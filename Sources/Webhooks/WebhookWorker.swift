import Crypto
import HTTPClient
import PusherProtocol
import Threads

/// Brings webhooks to their endpoints: one thread, and one pool of connections for all of them.
///
/// ``WebhookQueues`` decides; here is what it takes to carry that out. Whoever has something to tell posts it and goes on.
package final class WebhookWorker: Sendable {
    /// What it takes from outside.
    package struct Environment: Sendable {
        /// Told what operators are to know, on the worker's thread.
        package var report: @Sendable (WebhookReport) -> Void
        /// Milliseconds on a clock that never goes back.
        package var monotonicMilliseconds: @Sendable () -> Int64 = Clock.monotonicMilliseconds
        /// Milliseconds since 1970.
        package var unixMilliseconds: @Sendable () -> Int64 = Clock.unixMilliseconds
        /// How long a request may take, in milliseconds.
        package var timeoutMilliseconds = 10_000

        package init(report: @escaping @Sendable (WebhookReport) -> Void) { self.report = report }
    }

    /// How things stand.
    package struct Statistics: Equatable, Sendable {
        package internal(set) var counts = WebhookCounts()
        /// Events in the queues of all endpoints, the ones being sent included.
        package internal(set) var depth = 0
    }

    /// How far its end is decided.
    private struct End {
        /// Whether everything has been posted: only then may it end, or what came afterwards would be nowhere.
        var isWanted = false
        /// When it has to be done, in milliseconds on the monotonic clock.
        var latest = Int64.max
    }

    /// Where the hub puts its notices.
    package let inbox = WebhookInbox()
    /// By application: what its endpoints want, with what may take it back.
    private let wanted: [Int: WebhookKinds]
    private let environment: Environment
    private let current = Lock(Statistics())
    private let end = Lock(End())
    private let thread = Lock<Thread?>(nil)

    /// Starts to deliver, unless there is nowhere to deliver to.
    package init(endpoints: [WebhookEndpoint], _ surroundings: Environment) {
        self.environment = surroundings
        wanted = endpoints.reduce(into: [:]) { $0[$1.appIndex, default: []].formUnion($1.events.withCounterparts) }
        guard !endpoints.isEmpty else { return }
        let started = Thread(name: "webhooks") { [self] in WorkerLoop(self, endpoints).run() }
        thread.withLock { $0 = started }
    }

    /// What an application's endpoints want to hear, with what may take it back.
    package func kindsWanted(by app: Int) -> WebhookKinds { wanted[app, default: []] }

    /// Takes a notice, from any thread, if anybody wants it; never waits. One that finds no room is counted as refused.
    package func post(_ notice: AppWebhookEvent) {
        guard kindsWanted(by: notice.app).contains(notice.event.kind), inbox.append(notice) else { return }
        inbox.wake()
    }

    package var statistics: Statistics {
        var statistics = current.withLock { $0 }
        statistics.counts.refused += inbox.refusals
        return statistics
    }

    /// Delivers what has been posted, for as long as that may take, and ends; what is left then is dropped and counted.
    /// What was held back to see whether somebody returns goes at once: nobody will, here.
    /// - Precondition: nothing is posted any more.
    package func stop(withinSeconds seconds: Int) {
        end.withLock {
            $0.isWanted = true
            $0.latest = min($0.latest, milliseconds + Int64(seconds) * 1_000)
        }
        inbox.wake()
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        thread?.join()
    }

    /// Has a ``stop(withinSeconds:)`` end at once, from any thread, whether it has begun or is still to come.
    package func abortDrain() {
        end.withLock { $0.latest = milliseconds }
        inbox.wake()
    }

    private var milliseconds: Int64 { environment.monotonicMilliseconds() }
}

extension WebhookWorker {
    /// What the worker's thread owns.
    private final class WorkerLoop {
        private let worker: WebhookWorker
        private let endpoints: [WebhookEndpoint]
        private let keys: [HMACKey]
        private let pool: HTTPPool
        private var queues: WebhookQueues
        private var batch: [AppWebhookEvent] = []
        private var isClosing = false
        /// Refusals of the box that were reported, and when the next ones may be: once a second, however many they are.
        private var reported = (refusals: 0, next: Int64(0))

        init(_ worker: WebhookWorker, _ endpoints: [WebhookEndpoint]) {
            self.worker = worker
            self.endpoints = endpoints
            keys = endpoints.map { HMACKey(secret: $0.secret) }
            queues = WebhookQueues(endpoints)
            var options = HTTPPool.Options()
            // Each has at most one request in flight. Several may be of one host, and the slow must not hold up the others.
            options.connectionsPerHost = endpoints.count
            options.timeoutMilliseconds = worker.environment.timeoutMilliseconds
            options.idleSecondsMax = 60
            options.allowsPrivateAddresses = false
            options.allowsPlainHTTP = true
            pool = HTTPPool(options)
        }

        func run() {
            let waker = pool.waker
            worker.inbox.connect { waker.wake() }
            // What was posted before there was anybody to wake is found by looking first and sleeping afterwards.
            while let milliseconds = turn() { pool.wait(milliseconds: milliseconds) }
            _ = pool.retire()
            queues.abandon(at: moment)
            publish()
        }

        /// Does what can be done now.
        /// - Returns: for how many milliseconds there is nothing else to do, if nothing happens before; nil: for ever.
        private func turn() -> Int? {
            let end = worker.end.withLock { $0 }
            drainInbox()
            if end.isWanted, !isClosing {
                isClosing = true
                queues.close(at: moment)
            }
            for completion in pool.perform() { settle(completion) }
            var hasSent = false
            let now = worker.milliseconds
            let next = queues.send(at: now) { endpoint, request in
                start(request, to: endpoint)
                hasSent = true
            }
            publish()
            if end.isWanted, now >= end.latest || queues.isEmpty { return nil }
            // What was started has yet to be performed.
            guard !hasSent else { return 0 }
            let wake = min(next ?? .max, end.isWanted ? end.latest : .max)
            return Int(min(max(0, wake - now), 60_000))
        }

        private var moment: WebhookQueues.Moment {
            WebhookQueues.Moment(now: worker.milliseconds, time: worker.environment.unixMilliseconds())
        }

        private func drainInbox() {
            worker.inbox.drain(into: &batch)
            let moment = moment
            for notice in batch { queues.take(notice, at: moment) }
            queues.advance(to: moment)
        }

        private func start(_ request: WebhookRequest, to index: Int) {
            let endpoint = endpoints[index]
            let headers = [
                ("Content-Type", "application/json"), ("X-Pusher-Key", endpoint.key),
                ("X-Pusher-Signature", keys[index].signature(of: request.body)),
            ]
            let call = HTTPClientRequest(.post, endpoint.url, headers: headers, body: request.body)
            pool.start(call, tag: index, allowsPrivateAddresses: endpoint.allowsPrivate)
        }

        private func settle(_ completion: HTTPPool.Completion) {
            let problem: String? =
                switch completion.result {
                case .success(let reply): (200..<300).contains(reply.status) ? nil : "it answered \(reply.status)"
                case .failure(.notSent(let text)), .failure(.lost(let text)): text
                case .failure(.timedOut): "it did not answer in time"
                }
            queues.answered(
                completion.tag, problem: problem, at: worker.milliseconds, jitter: Double.random(in: 0..<1))
        }

        private func publish() {
            let statistics = Statistics(counts: queues.counts, depth: queues.depth)
            worker.current.withLock { $0 = statistics }
            for report in queues.drainReports() { worker.environment.report(report) }
            let (refusals, now) = (worker.inbox.refusals, worker.milliseconds)
            guard refusals > reported.refusals, now >= reported.next || isClosing else { return }
            worker.environment.report(.overrun(refused: refusals - reported.refusals))
            reported = (refusals, now + 1_000)
        }
    }
}
