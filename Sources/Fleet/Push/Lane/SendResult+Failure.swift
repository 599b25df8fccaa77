import HTTPClient

extension SendResult {
    /// The result of a response that the provider never sends: the address is wrong, or the response is a proxy's. The
    /// HTTP status then says nothing about the push.
    init(foreign response: HTTPClientResponse) {
        self = .foreign(reason: "HTTP \(response.status): not a response of the provider")
    }

    /// The result of a request without a response: the job is tried again, even if the provider may have accepted it. A
    /// device shows a repeated push only once, because both have the same collapse id.
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
