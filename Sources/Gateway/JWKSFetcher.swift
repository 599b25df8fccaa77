import HTTPClient
import JWT
import Observability
import Server
import Threads

/// Fetches token issuers' keys on a separate thread: when a token needs an unknown key, but at most once a minute per
/// issuer (``IssuerKeyCache``). Only the requests with such tokens wait; the loops serve others meanwhile.
final class JWKSFetcher: Sendable {
    /// The largest number of requests that may wait; further ones get 503.
    private static let capacity = 1_024
    /// The longest time that one fetch may take.
    private static let timeoutSeconds = 5

    private struct FetchRequest {
        let issuer: Int
        let loop: Int
        let request: RequestID
    }

    private let issuers: [TokenIssuer]
    private let keyCache: IssuerKeyCache
    private let queue = WorkQueue<FetchRequest>(capacity: JWKSFetcher.capacity)
    private let log: Log

    init(issuers: [TokenIssuer], keyCache: IssuerKeyCache, log: Log) {
        self.issuers = issuers
        self.keyCache = keyCache
        self.log = log
    }

    /// Queues a fetch. After it, the loop receives ``LoopMessage/keysFetched(for:)``, whether the fetch succeeded or
    /// not.
    /// - Returns: false if the queue is full.
    func fetch(issuer: Int, for request: RequestID, on loop: Int) -> Bool {
        queue.post(FetchRequest(issuer: issuer, loop: loop, request: request))
    }

    /// Fetches until ``stop()``.
    func run(notifying hub: SharedHub) {
        var batch: [FetchRequest] = []
        while queue.take(into: &batch, most: Self.capacity) == .items {
            for request in batch {
                fetchIfDue(request.issuer)
                hub.post(.keysFetched(for: request.request), to: request.loop)
            }
        }
    }

    func stop() { queue.close() }

    private func fetchIfDue(_ issuer: Int) {
        guard case .remote(let url, _) = issuers[issuer].keys,
            keyCache.mayFetch(issuer: issuer, now: Clock.unixMilliseconds() / 1000)
        else { return }
        do {
            let response = try HTTPClient.sendAuthenticated(HTTPClientRequest(.get, url), timeoutSeconds: Self.timeoutSeconds)
            guard response.status == 200 else { return logFailure(url, "HTTP \(response.status)") }
            try keyCache.store(response.body, for: issuer)
            log.info("token_keys_fetched", ["url": .text(url)])
        } catch {
            logFailure(url, "\(error)")
        }
    }

    /// Logs a failure. Keys that were fetched earlier stay in use.
    private func logFailure(_ url: String, _ reason: String) {
        log.warning("token_keys_not_fetched", ["url": .text(url), "reason": .text(reason)])
    }
}
