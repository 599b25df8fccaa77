import HTTPClient

extension SendResult {
    /// What the provider never answers: somebody else does, at a wrong address or on the way. Until that is mended nothing gets
    /// through, whatever the status says.
    static func foreign(_ reply: HTTPClientResponse) -> SendResult {
        .configurationError(reason: "HTTP \(reply.status), not of the provider", newConnection: true)
    }

    /// What it means that no answer came: the job is tried again, whatever may have become of the first try. A phone that is
    /// shown it twice shows it once, by its collapse id.
    package init(_ failure: HTTPClientError) {
        let reason =
            switch failure {
            case .notSent(let text): "not sent: \(text)"
            case .lost(let text): "connection lost: \(text)"
            case .timedOut: "timed out"
            }
        self = .retry(reason: reason, after: nil)
    }
}
