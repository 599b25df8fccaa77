import HTTPClient
import JWT
import Observability
import Primitives
import Realtime
import Server
import Threads

/// Keeps the cached keys of one token issuer current, on a thread of its own: a slow issuer delays only its own tokens, and
/// the loops serve others meanwhile. ``KeyFetchSchedule`` decides when.
final class JWKSFetcher: Sendable {
    /// The largest number of requests that may wait; further ones get 503.
    private static let capacity = 1_024

    /// A request whose token needs a key that was unknown.
    private struct WaitingRequest {
        let key: MissingKey
        let id: RequestID
        let loop: Int
    }

    private let queue: WorkQueue<WaitingRequest>
    private let thread: Thread

    /// Starts the thread, which fetches the keys at once.
    /// - Parameters:
    ///   - issuer: the issuer's position in the configuration.
    ///   - url: where the issuer publishes its keys.
    init(issuer: Int, url: String, keyCache: IssuerKeyCache, hub: SharedHub, log: Log) {
        let queue = WorkQueue<WaitingRequest>(capacity: Self.capacity)
        self.queue = queue
        thread = Thread(name: "token-keys-\(issuer)") {
            var worker = Worker(issuer: issuer, url: url, keyCache: keyCache, log: log, isStopping: { queue.isClosed })
            var batch: [WaitingRequest] = []
            while queue.take(into: &batch, most: Self.capacity, waiting: worker.millisecondsUntilRefresh) != .closed {
                let retryAfterSeconds = worker.fetchIfDue(for: batch.map(\.key))
                for request in batch {
                    hub.post(.keysFetched(for: request.id, retryAfterSeconds: retryAfterSeconds), to: request.loop)
                }
            }
        }
    }

    /// Queues a request. Its loop receives ``FleetMessage/keysFetched(for:retryAfterSeconds:)`` after a fetch that began
    /// after this call, or as soon as none is needed or permitted.
    /// - Returns: false if the queue is full.
    func fetch(_ key: MissingKey, for request: RequestID, on loop: Int) -> Bool {
        queue.post(WaitingRequest(key: key, id: request, loop: loop))
    }

    /// The number of requests that wait.
    var depth: Int { queue.depth }

    /// Ends the thread when it has answered the queued requests. It fetches no more keys for them, because an issuer that
    /// does not answer must not delay the end of the process.
    func stop() { queue.close() }

    /// Blocks until the thread has ended. Call ``stop()`` first.
    func wait() { thread.join() }
}

extension JWKSFetcher {
    /// The state that the thread owns.
    private struct Worker {
        private let issuer: Int
        private let url: String
        private let keyCache: IssuerKeyCache
        private let log: Log
        private let isStopping: @Sendable () -> Bool
        private var schedule: KeyFetchSchedule

        init(issuer: Int, url: String, keyCache: IssuerKeyCache, log: Log, isStopping: @escaping @Sendable () -> Bool) {
            (self.issuer, self.url, self.keyCache, self.log) = (issuer, url, keyCache, log)
            self.isStopping = isStopping
            schedule = KeyFetchSchedule(now: Self.now)
        }

        private static var now: Int64 { Clock.monotonicMilliseconds() / 1_000 }

        var millisecondsUntilRefresh: Int64 { schedule.secondsUntilRefresh(now: Self.now) * 1_000 }

        /// Fetches the keys if that is due, or if one of these keys is still unknown and the schedule permits a fetch.
        /// - Returns: nil if the issuer has no other keys now than those in the cache; otherwise the time after which a
        ///   request whose key is still unknown may be repeated.
        mutating func fetchIfDue(for keys: [MissingKey]) -> Int? {
            let start = Self.now
            let wait = schedule.secondsUntilFetchForUnknownKey(now: start)
            let cause: KeyFetchSchedule.Cause
            if wait == 0, keys.contains(where: keyCache.lacks) {
                cause = .unknownKey
            } else if schedule.secondsUntilRefresh(now: start) == 0 {
                cause = .age
            } else {
                return Int(max(1, wait))
            }
            let outcome = fetch()
            schedule.record(outcome, of: cause, startedAt: start)
            guard case .failed = outcome else { return nil }
            return Int(max(1, schedule.secondsUntilFetchForUnknownKey(now: Self.now)))
        }

        private func fetch() -> KeyFetchSchedule.Outcome {
            do {
                let request = HTTPClientRequest(.get, url)
                let response = try HTTPClient.sendAuthenticated(
                    request, timeoutSeconds: Timing.wholeSeconds(Timing.keyFetchMax), isCancelled: isStopping)
                guard response.status == 200 else { return failed("HTTP \(response.status)") }
                let change = try keyCache.store(response.body, for: issuer)
                if change != .none { log.info("token_keys_changed", ["url": .text(url)]) }
                return change == .added
                    ? .newKeys(maxAgeSeconds: response.maxAgeSeconds) : .noNewKeys(maxAgeSeconds: response.maxAgeSeconds)
            } catch {
                return failed("\(error)")
            }
        }

        /// Logs a failure. Keys that were fetched earlier stay in use.
        private func failed(_ reason: String) -> KeyFetchSchedule.Outcome {
            if !isStopping() { log.warning("token_keys_not_fetched", ["url": .text(url), "reason": .text(reason)]) }
            return .failed
        }
    }
}
