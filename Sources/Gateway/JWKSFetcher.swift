import HTTPClient
import JWT
import Observability
import Server
import Threads

/// The thread that fetches the keys of token issuers: first when a token needs one that is not there, then at most once a
/// minute and issuer, as ``IssuerKeyCache`` has it. Requests wait for it; loops do not.
final class JWKSFetcher: Sendable {
    /// Requests that may wait; beyond, they are asked to come again.
    private static let waitingMax = 1_024
    private static let timeoutSeconds = 5

    private struct FetchRequest {
        let issuer: Int
        let loop: Int
        let exchange: RequestID
    }

    private let issuers: [TokenIssuer]
    private let ring: IssuerKeyCache
    private let queue = WorkQueue<FetchRequest>(capacity: JWKSFetcher.waitingMax)
    private let log: Log

    init(issuers: [TokenIssuer], ring: IssuerKeyCache, log: Log) {
        self.issuers = issuers
        self.ring = ring
        self.log = log
    }

    /// Has the keys looked for, and the loop told then. False when too many wait.
    func fetch(issuer: Int, for exchange: RequestID, on loop: Int) -> Bool {
        queue.post(FetchRequest(issuer: issuer, loop: loop, exchange: exchange))
    }

    /// Serves until ``stop()``.
    func run(telling hub: SharedHub) {
        var errands: [FetchRequest] = []
        while queue.take(into: &errands, most: Self.waitingMax) == .items {
            for errand in errands {
                fetchIfDue(errand.issuer)
                hub.post(.keysFetched(for: errand.exchange), to: errand.loop)
            }
        }
    }

    func stop() { queue.close() }

    private func fetchIfDue(_ issuer: Int) {
        guard case .remote(let url, _) = issuers[issuer].keys,
            ring.mayFetch(issuer: issuer, now: Clock.unixMilliseconds() / 1000)
        else { return }
        do {
            let response = try HTTPClient.sendAuthenticated(HTTPClientRequest(.get, url), timeoutSeconds: Self.timeoutSeconds)
            guard response.status == 200 else { return fail(url, "HTTP \(response.status)") }
            try ring.store(response.body, for: issuer)
            log.info("token_keys_fetched", ["url": .text(url)])
        } catch {
            fail(url, "\(error)")
        }
    }

    /// Those that are there stay good.
    private func fail(_ url: String, _ reason: String) {
        log.warning("token_keys_not_fetched", ["url": .text(url), "reason": .text(reason)])
    }
}
