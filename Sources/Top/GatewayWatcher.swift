import HTTPClient

/// Reads a gateway's figures over a kept-alive connection, without blocking.
package final class GatewayWatcher {
    /// A reading.
    package enum Reading: Equatable {
        case sample(Sample)
        /// Why there is none, as a sentence about the gateway: `does not answer: …`.
        case problem(String)
    }

    private let url: String
    private let pool: HTTPPool
    private var responses: [Int: Result<HTTPClientResponse, HTTPClientError>] = [:]
    private static let paths = ["/api/ops/stats?cluster=true", "/api/ops/push"]

    /// - Parameter url: the gateway's, without a slash at its end.
    package init(_ url: String) {
        self.url = url
        var options = HTTPPool.Options()
        options.timeoutMilliseconds = 3_000
        options.allowsPlainHTTP = true
        options.responseBytesMax = 1_048_576
        options.rejectsLargerResponses = true
        options.usesProxy = HTTPClient.usesProxy(for: url)
        pool = HTTPPool(options)
    }

    /// Begins a reading. The one before must have ended.
    /// - Parameter token: the bearer token; empty: none.
    package func start(token: String) {
        responses = [:]
        let headers = token.isEmpty ? [] : [(name: "authorization", value: "Bearer \(token)")]
        for (tag, path) in Self.paths.enumerated() {
            pool.start(HTTPClientRequest(.get, url + path, headers: headers), tag: tag)
        }
    }

    /// Goes on with the reading.
    /// - Parameters:
    ///   - milliseconds: how long to wait for the gateway at most.
    ///   - now: milliseconds of a clock that never decreases.
    /// - Returns: the reading, once it has ended.
    package func proceed(waiting milliseconds: Int, now: () -> Int64) -> Reading? {
        for completion in pool.perform() { responses[completion.tag] = completion.result }
        guard responses.count == Self.paths.count else {
            pool.wait(milliseconds: milliseconds)
            return nil
        }
        return reading(now())
    }

    private func reading(_ now: Int64) -> Reading {
        guard case .success(let response) = responses[0] else {
            guard case .failure(let error) = responses[0] else { return .problem("does not answer") }
            return .problem("does not answer: \(error)")
        }
        switch response.status {
        case 200: break
        case 401, 403: return .problem("refuses the token: status \(response.status)")
        default:
            let reason = Figures(json: response.body)?.text("error")
            return .problem("responds with status \(response.status)" + (reason.map { ": \($0)" } ?? ""))
        }
        guard let stats = Figures(json: response.body) else { return .problem("does not respond with statistics") }
        var push: Figures?
        if case .success(let response) = responses[1], response.status == 200 { push = Figures(json: response.body) }
        return .sample(Sample(milliseconds: now, stats: stats, push: push))
    }
}
