import HTTPClient

extension SendResult {
    /// A response that the provider never sends: a wrong address, or a proxy in between. Nothing gets through until
    /// that is fixed, whatever the status.
    static func foreign(_ response: HTTPClientResponse) -> SendResult {
        .configurationError(reason: "HTTP \(response.status): not a response of the provider", newConnection: true)
    }

    /// A request without a response: the job is tried again, even if the provider may have accepted it. A device shows
    /// a repeated push once, because of its collapse id.
    package init(_ error: HTTPClientError) {
        let reason =
            switch error {
            case .notSent(let text): "not sent: \(text)"
            case .lost(let text): "connection lost: \(text)"
            case .timedOut: "timed out"
            }
        self = .retry(reason: reason, after: nil)
    }
}
